package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/protocol/protocols"
)

// nameRule says which names decide nothing outside of a wing.
type nameRule struct {
	names  map[string]bool
	wing   string
	kept   map[string]string // the files that may decide by names, and why
	remedy string
}

// protocolRule is the rule for names of protocols.
func protocolRule(names map[string]bool) nameRule {
	return nameRule{names, "internal/protocol", namesKept, "a protocol's name: ask its protocol.Declaration instead"}
}

// toolRule is the rule for names of tools.
func toolRule(names map[string]bool) nameRule {
	return nameRule{names, "internal/dialect", nil, "a tool's name: ask its dialect.Tool instead"}
}

// namesKept lists the files that may compare with a protocol's name, and why.
var namesKept = map[string]string{
	"internal/dialect/k6/brunt/database.go": "http is a kind of request, as in plans",
	"internal/plan/planfile/faults.go":      "http is a kind of fault",
}

// protocolNames are all names of protocols.
func protocolNames() map[string]bool {
	names := map[string]bool{}
	for _, d := range protocols.All() {
		for _, name := range d.Names {
			names[name] = true
		}
	}
	return names
}

// decidesByName lists where a file outside of a wing decides by a name of the wing's: in a comparison, a case, or the
// key of a map. What is to be known of a protocol or a tool belongs to its declaration. Schemes of URLs aren't names of
// protocols.
func decidesByName(s *source, rule nameRule) (faults []string) {
	if s.test || !under(s.room, "internal") || under(s.room, rule.wing) || rule.kept[s.path] != "" {
		return nil
	}
	check := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && rule.names[text] {
			faults = append(faults, fmt.Sprintf("%s: %s is %s", s.at(e.Pos()), lit.Value, rule.remedy))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && !isScheme(n.X) && !isScheme(n.Y) {
				check(n.X)
				check(n.Y)
			}
		case *ast.SwitchStmt:
			if isScheme(n.Tag) {
				return true
			}
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					check(e)
				}
			}
		case *ast.CallExpr:
			checkCall(n, check)
		case *ast.IndexExpr:
			// A map that is asked for a scheme may have schemes as its keys.
			if isScheme(n.Index) {
				return false
			}
		case *ast.CompositeLit:
			checkKeys(n, check)
		}
		return true
	})
	return faults
}

// checkCall checks the arguments of functions that compare: Contains, Index, EqualFold and the like.
func checkCall(n *ast.CallExpr, check func(ast.Expr)) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Contains" && f.Sel.Name != "Index" && f.Sel.Name != "EqualFold" && f.Sel.Name != "Compare" {
		return
	}
	for _, arg := range n.Args {
		check(arg)
		if list, ok := arg.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				check(e)
			}
		}
	}
}

// checkKeys checks the keys of a map.
func checkKeys(n *ast.CompositeLit, check func(ast.Expr)) {
	if _, ok := n.Type.(*ast.MapType); !ok {
		return
	}
	for _, e := range n.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			check(pair.Key)
		}
	}
}

// isScheme reports whether an expression is the scheme of a URL.
func isScheme(e ast.Expr) bool {
	f, ok := e.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Scheme"
}

func TestNobodyDecidesByProtocolsNames(t *testing.T) {
	rule := protocolRule(protocolNames())
	kept := map[string]bool{}
	for _, s := range sources(t) {
		report(t, decidesByName(s, rule))
		kept[s.path] = true
	}
	for path := range namesKept {
		if !kept[path] {
			t.Errorf("%s may name protocols, and isn't there", path)
		}
	}
}

func TestDecisionsByNameAreFound(t *testing.T) {
	rule := protocolRule(map[string]bool{"pg": true, "http": true})
	for text, want := range map[string]int{
		`x == "pg"`:     1,
		`"pg" != x`:     1,
		`x == "others"`: 0,
		`func() bool { switch x { case "a", "pg": }; return true }()`:     1,
		`func() bool { switch u.Scheme { case "http": }; return true }()`: 0,
		`u.Scheme != "http"`:                                       0,
		`slices.Contains([]string{"a", "http"}, x)`:                1,
		`strings.EqualFold(x, "PG") || strings.EqualFold(x, "pg")`: 1,
		`map[string]bool{"pg": true}[x]`:                           1,
		`map[string]bool{"http": true}[u.Scheme]`:                  0,
		`f("pg")`: 0,
	} {
		t.Run(text, func(t *testing.T) {
			code := "package p\n\nvar _ = " + text + "\n"
			if got := decidesByName(parse(t, "internal/run/x.go", []byte(code)), rule); len(got) != want {
				t.Errorf("got %q, want %d", got, want)
			}
			if got := decidesByName(parse(t, "internal/protocol/pg/x.go", []byte(code)), rule); strings.Join(got, "") != "" {
				t.Errorf("in a protocol's own package: %q", got)
			}
		})
	}
}
