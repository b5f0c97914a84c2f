// Command dead lists the functions below internal/ that no program reaches: no command, example or tool, nor the
// helpers of tests. Only tests call them, or nothing does. It fails if there are any.
//
//	go run ./test/dead
//
// It follows all calls from main functions (rapid type analysis): a method of a type that is put into an interface is
// reached if a method of its name and type is called through an interface, and reflection reaches exported methods. A
// program of another system or with other build tags may reach more, so functions in files that this system does not
// build are not considered. It takes a minute and 3 GB, so it isn't part of `make check`.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

func main() {
	dead, err := find(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, line := range dead {
		fmt.Println(line)
	}
	if len(dead) > 0 {
		os.Exit(1)
	}
}

// forTests are functions of products' packages that exist for tests of several packages, by package and name. Where one
// of them would be better off in a package for tests, move it there and remove it here.
var forTests = []string{
	"brunt/internal/render/message Faults",
	"brunt/internal/render/message Message.faults", "brunt/internal/run/program Journal.Entries",
}

// find returns a line for each function of the module in a folder that no program reaches.
func find(folder string) (dead []string, err error) {
	loaded, err := packages.Load(&packages.Config{
		Dir: folder,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedSyntax,
	}, "./...")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return nil, fmt.Errorf("the packages have errors")
	}
	program, all := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	program.Build()
	reached := rta.Analyze(roots(all, loaded), false).Reachable
	at := map[token.Position]bool{}
	for f := range reached {
		if f.Pos().IsValid() {
			at[program.Fset.Position(f.Pos())] = true
		}
	}
	for _, p := range loaded {
		if strings.Contains(p.PkgPath, "/internal/") && !strings.HasSuffix(p.PkgPath, "test") &&
			!strings.HasSuffix(p.PkgPath, "/echo") { // a server for tests

			dead = append(dead, unreached(p, at)...)
		}
	}
	slices.Sort(dead)
	return slices.Compact(dead), nil
}

// roots returns what runs by itself: the main and init functions of programs, and the functions that only tests of
// other packages call because the package exists for tests.
func roots(all []*ssa.Package, loaded []*packages.Package) (roots []*ssa.Function) {
	for i, p := range all {
		if p == nil {
			continue
		}
		if p.Pkg.Name() == "main" {
			roots = append(roots, p.Func("init"), p.Func("main"))
		}
		path := loaded[i].PkgPath
		if !strings.Contains(path, "/test/") && !strings.HasSuffix(path, "test") && strings.Contains(path, "/internal/") {
			continue
		}
		// What a helper of tests or the public package exports is reached by others.
		for _, m := range p.Members {
			if f, ok := m.(*ssa.Function); ok && ast.IsExported(f.Name()) {
				roots = append(roots, f)
			}
		}
	}
	return roots
}

// unreached returns a line for each declared function of a package that is not at a reached position.
func unreached(p *packages.Package, at map[token.Position]bool) (lines []string) {
	for _, file := range p.Syntax {
		if ast.IsGenerated(file) {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || at[p.Fset.Position(f.Name.Pos())] || f.Name.Name == "init" || f.Name.Name == "_" {
				continue
			}
			if slices.Contains(forTests, p.PkgPath+" "+receiver(f)+f.Name.Name) {
				continue
			}
			where := p.Fset.Position(f.Name.Pos())
			name := where.Filename
			if here, err := os.Getwd(); err == nil {
				if relative, err := filepath.Rel(here, name); err == nil {
					name = relative
				}
			}
			lines = append(lines, fmt.Sprintf("%s:%d: %s", name, where.Line, receiver(f)+f.Name.Name))
		}
	}
	return lines
}

// receiver returns the receiver's type and a dot, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
