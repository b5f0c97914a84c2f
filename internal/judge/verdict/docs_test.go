package verdict

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestEveryWarningIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "warnings.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Warn") {
			return true
		}
		found++
		id, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), "`"+id+"`") {
			t.Errorf("docs/verdict.md doesn't have %s", id)
		}
		return true
	})
	if found < 20 {
		t.Errorf("found only %d warnings in warnings.go", found)
	}
}
