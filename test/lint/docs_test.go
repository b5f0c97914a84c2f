package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"testing"
)

// undocumented lists the exported names of a file that have no comment of their own. A name in a
// group of constants or variables is covered by the group's comment or one on its line.
func undocumented(s *source) (faults []string) {
	if s.test || s.file.Name.Name == "main" || ast.IsGenerated(s.file) {
		return nil
	}
	fault := func(name *ast.Ident) {
		faults = append(faults, fmt.Sprintf("%s: %s has no doc comment", s.at(name.Pos()), name.Name))
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && receiverExported(d) && d.Doc == nil {
				fault(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, name := range uncommented(d, spec) {
					fault(name)
				}
			}
		}
	}
	return faults
}

func uncommented(d *ast.GenDecl, spec ast.Spec) (names []*ast.Ident) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && spec.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
			names = append(names, spec.Name)
		}
	case *ast.ValueSpec:
		if spec.Doc != nil || spec.Comment != nil || d.Doc != nil {
			return nil
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				names = append(names, name)
			}
		}
	}
	return names
}

func receiverExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	packages := make(map[string]token.Position)
	documented := make(map[string]bool)
	for _, s := range sources(t) {
		report(t, undocumented(s))
		if !s.test {
			packages[s.room] = s.fset.Position(s.file.Package)
			documented[s.room] = documented[s.room] || s.file.Doc != nil
		}
	}
	for room, at := range packages {
		if !documented[room] {
			t.Errorf("%s: the package has no doc comment (%s)", room, at.Filename)
		}
	}
}

func TestUndocumentedNamesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"func F() {}":                              1,
		"// F does.\nfunc F() {}":                  0,
		"func f() {}":                              0,
		"type t int\nfunc (t) M() {}":              0,
		"// T is.\ntype T int\nfunc (t *T) M() {}": 1,
		"// T is.\ntype T[V any] struct{}\nfunc (t *T[V]) M() {}": 1,
		"type T int":                            1,
		"const A, B = 1, 2":                     2,
		"// The As.\nconst (\n\tA = 1\n)":       0,
		"const (\n\tA = 1 // one\n\tB = 2\n)":   1,
		"// Ts.\ntype (\n\tT int\n)":            1,
		"type (\n\t// T is.\n\tT int\n\tu T\n)": 0,
	} {
		if got := undocumented(parse(t, "internal/a/x.go", []byte("package p\n\n"+text+"\n"))); len(got) != want {
			t.Errorf("%q: got %q, want %d faults", text, got, want)
		}
	}
}
