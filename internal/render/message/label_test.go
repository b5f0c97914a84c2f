package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/render/units"
)

// speakers are the names of functions whose first literal is a label.
var speakers = []string{"say", "Label"}

// labelsInCode returns the labels and nouns that the packages of reports use, with their positions in the code.
func labelsInCode(t *testing.T) (labels, nouns map[string]string) {
	labels, nouns = map[string]string{}, map[string]string{}
	read := func(path string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			var literals []string
			for _, a := range call.Args {
				if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
					s, _ := strconv.Unquote(l.Value)
					literals = append(literals, s)
				}
			}
			at := fset.Position(call.Pos()).String()
			if slices.Contains(speakers, name) && len(literals) > 0 {
				labels[literals[0]] = at
			}
			if strings.EqualFold(name, "plural") && len(literals) == 2 {
				nouns[literals[1]] = at
			}
			return true
		})
	}
	for _, room := range []string{
		"..", "../../report", "../../judge/compare", "../../judge/history", "../../run/program", "../../run/doctor",
		"../../dialect/tpc", "../../dialect/tpcb", "../../dialect/tpcc",
	} {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return labels, nouns
}

func TestEveryLabelHasATranslation(t *testing.T) {
	labels, nouns := labelsInCode(t)
	if len(labels) < 150 {
		t.Fatalf("found only %d labels", len(labels))
	}
	if len(nouns) < 10 {
		t.Fatalf("found only %d nouns", len(nouns))
	}
	for l := range languages {
		if !foreign(l) {
			continue
		}
		for text, at := range labels {
			if _, ok := of(l).Labels[text]; !ok {
				t.Errorf("%s: %s has no label for %q", at, l, text)
			}
		}
		for noun, at := range nouns {
			forms, ok := of(l).Counted[noun]
			if !ok {
				t.Errorf("%s: %s has no noun %q", at, l, noun)
			}
			for n := range 200 {
				if forms[formOf(l, uint64(n)).name] == "" {
					t.Fatalf("%s: the noun %q has no form for %d", l, noun, n)
				}
			}
		}
	}
}

// verbs are the placeholders that texts use.
var verbs = regexp.MustCompile(`%(?:\[\d+\])?[.\d]*[a-zA-Z]`)

func TestPlaceholdersAgree(t *testing.T) {
	for english, other := range of(units.Russian).Labels {
		if a, b := verbs.FindAllString(english, -1), verbs.FindAllString(other, -1); !slices.Equal(a, b) {
			t.Errorf("%q has %q, %q has %q", english, a, other, b)
		}
	}
}

func TestRussianPlurals(t *testing.T) {
	for n, want := range map[uint64]string{1: "1 сеанс", 2: "2 сеанса", 5: "5 сеансов", 11: "11 сеансов", 21: "21 сеанс",
		112: "112 сеансов", 1234: "1\u00a0234 сеанса"} {
		if got := Plural(units.Russian, n, "session", "sessions"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Plural(units.English, 1, "session", "sessions"); got != "1 session" {
		t.Error(got)
	}
}
