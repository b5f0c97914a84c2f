// Package lint_test contains the project's rules that the compiler doesn't check: which room may import which, how long
// functions and lines may be, what must be documented, and which words must not be used.
package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is one parsed Go file of the module.
type source struct {
	path string // from the module's root, with slashes
	room string // folder, from the module's root
	test bool
	fset *token.FileSet
	file *ast.File
}

func (s *source) at(p token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(p).Line)
}

// imports lists the paths that the file imports.
func (s *source) imports() []string {
	var all []string
	for _, i := range s.file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		all = append(all, path)
	}
	return all
}

// parse parses one file. A syntax error fails the test.
func parse(t *testing.T, path string, text []byte) *source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{
		path: path, room: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go"),
		fset: fset, file: file,
	}
}

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// texts calls f with each text file of the project.
func texts(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	base := root(t)
	err := filepath.WalkDir(base, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, _ := filepath.Rel(base, full)
		path = filepath.ToSlash(path)
		if d.IsDir() {
			switch path {
			case ".git", "bin", "results", ".cache":
				return filepath.SkipDir
			}
			return nil
		}
		if !textual(path) {
			return nil
		}
		b, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		f(path, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func textual(path string) bool {
	switch filepath.Ext(path) {
	case ".go", ".md", ".yml", ".yaml", ".json", ".sh", ".js", ".ts", ".py", ".lua", ".mod", ".txtar", ".html", ".css":
		return true
	}
	return path == "Makefile" || strings.HasPrefix(path, ".ci/")
}

// sources parses all Go files of the module.
func sources(t *testing.T) []*source {
	t.Helper()
	var all []*source
	texts(t, func(path string, text []byte) {
		if strings.HasSuffix(path, ".go") && !strings.Contains(path, "/testdata/") {
			all = append(all, parse(t, path, text))
		}
	})
	if len(all) < 20 {
		t.Fatalf("found only %d Go files", len(all))
	}
	return all
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}
