package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

// shadows lists the declarations in a file that hide predeclared identifiers.
func shadows(s *source) (faults []string) {
	check := func(names ...*ast.Ident) {
		for _, n := range names {
			if n != nil && types.Universe.Lookup(n.Name) != nil {
				faults = append(faults, fmt.Sprintf("%s: %s hides what is built into Go: use another name", s.at(n.Pos()), n.Name))
			}
		}
	}
	fields := func(l *ast.FieldList) {
		if l != nil {
			for _, f := range l.List {
				check(f.Names...)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.AssignStmt:
			for _, left := range d.Lhs {
				if name, ok := left.(*ast.Ident); ok && d.Tok == token.DEFINE {
					check(name)
				}
			}
		case *ast.RangeStmt:
			key, _ := d.Key.(*ast.Ident)
			value, _ := d.Value.(*ast.Ident)
			if d.Tok == token.DEFINE {
				check(key, value)
			}
		case *ast.ValueSpec:
			check(d.Names...)
		case *ast.TypeSpec:
			check(d.Name)
		case *ast.FuncDecl:
			if d.Recv == nil {
				check(d.Name)
			}
			fields(d.Recv)
		case *ast.FuncType:
			fields(d.Params)
			fields(d.Results)
		}
		return true
	})
	return faults
}

func TestNothingBuiltInIsHidden(t *testing.T) {
	for _, s := range sources(t) {
		report(t, shadows(s))
	}
}

func TestHiddenBuiltInsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"func f() { any := 1; _ = any }":                      1,
		"func f() { for new := range 3 { _ = new } }":         1,
		"func f(make int, print string) {}":                   2,
		"func clear() {}":                                     1,
		"var len = 1":                                         1,
		"type error struct{}":                                 1,
		"type t struct{ len int }":                            0,
		"func (x t) clear() {}":                               0,
		"func f() { x := 1; _ = x }":                          0,
		"func f() (min int) { return min }":                   1,
		"func f() { var t struct{ any bool }; t.any = true }": 0,
	} {
		t.Run(text, func(t *testing.T) {
			if got := shadows(parse(t, "internal/a/x.go", []byte("package p\n\n"+text+"\n"))); len(got) != want {
				t.Errorf("got %q, want %d", got, want)
			}
		})
	}
}
