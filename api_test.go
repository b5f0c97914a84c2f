package brunt

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write api.txt")

// publicPackages are the folders of the packages that others import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	all := []string{".", "command"}
	err := filepath.WalkDir("protocols", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAPI compares what the public packages export with api.txt. What stands there is promised: docs/compatibility.md.
// -update writes the file.
func TestAPI(t *testing.T) {
	var got bytes.Buffer
	for _, dir := range publicPackages(t) {
		describe(t, &got, dir)
	}
	if *update {
		if err := os.WriteFile("api.txt", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the exported API isn't that of api.txt; see docs/compatibility.md, and then run go test -run API -update .\n"+
			"removed:\n%s\nadded:\n%s", lacking(string(want), got.String()), lacking(got.String(), string(want)))
	}
}

// lacking returns the lines of a text that another lacks.
func lacking(text, other string) string {
	have := strings.Split(other, "\n")
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return slices.Contains(have, l) })
	return strings.Join(lines, "\n")
}

// describe writes the exported declarations of a package, without comments and bodies. Each has a comment, and mentions
// no type of an internal package, which users couldn't name.
func describe(t *testing.T, out *bytes.Buffer, dir string) {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	name := strings.TrimSuffix("brunt/"+filepath.ToSlash(dir), "/.")
	p, err := doc.NewFromFiles(fset, files, name)
	if err != nil {
		t.Fatal(err)
	}
	if p.Doc == "" {
		t.Errorf("%s has no package comment", name)
	}
	fmt.Fprintf(out, "package %s\n", name)
	put := func(comment string, d ast.Decl) {
		if comment == "" {
			t.Errorf("%s: no comment", fset.Position(d.Pos()))
		}
		text := printed(t, fset, d)
		if i := internalName(files, text); i != "" {
			t.Errorf("%s: it has a type of the internal package %s", fset.Position(d.Pos()), i)
		}
		fmt.Fprintf(out, "\n%s\n", text)
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			put(v.Doc+" ", v.Decl)
		}
	}
	functions := func(all []*doc.Func) {
		for _, f := range all {
			put(f.Doc, f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, typ := range p.Types {
		put(typ.Doc, typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		functions(typ.Funcs)
		functions(typ.Methods)
	}
	out.WriteByte('\n')
}

// printed returns a declaration without comments.
func printed(t *testing.T, fset *token.FileSet, d ast.Decl) string {
	t.Helper()
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc, n.Body = nil, nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	var b bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, fset, d); err != nil {
		t.Fatal(err)
	}
	var lines []string // positions of removed comments leave empty lines
	for l := range strings.SplitSeq(b.String(), "\n") {
		if strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// internalName returns the internal package that a text mentions, "" if it mentions none.
func internalName(files []*ast.File, text string) string {
	for _, f := range files {
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			name := path[strings.LastIndexByte(path, '/')+1:] + "."
			if strings.Contains(path, "/internal/") && strings.Contains(text, name) {
				return path
			}
		}
	}
	return ""
}

// A program that imports brunt contains neither k6 nor the command line nor a protocol of brunt.
func TestImportsLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "brunt/internal/run/runner") {
		t.Fatalf("%d packages, without the runner", len(all))
	}
	for _, path := range all {
		for _, no := range []string{"go.k6.io/", "brunt/internal/cli", "brunt/internal/dialect",
			"brunt/internal/protocol/all", "github.com/jackc/pgx", "github.com/redis", "google.golang.org/grpc",
			"modernc.org/sqlite"} {
			if strings.HasPrefix(path, no) {
				t.Errorf("it imports %s", path)
			}
		}
	}
}
