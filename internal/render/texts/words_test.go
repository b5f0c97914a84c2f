package texts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/units"
	"brunt/internal/verdict"
)

// speakers are the names of functions whose first text is an id of the catalogue.
var speakers = []string{"say", "In"}

// ids are the texts that the packages of reports say, by what follows the function's name.
func ids(t *testing.T) (texts map[string]string, nouns map[string]string) {
	texts, nouns = map[string]string{}, map[string]string{}
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
				texts[literals[0]] = at
			}
			if strings.EqualFold(name, "plural") && len(literals) == 2 {
				nouns[literals[1]] = at
			}
			return true
		})
	}
	for _, room := range []string{"..", "../../report", "../../compare", "../../history", "../../program"} {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
				!strings.Contains(path, "words/") {
				read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts, nouns
}

func TestEveryTextHasBothLanguages(t *testing.T) {
	texts, nouns := ids(t)
	if len(texts) < 150 || len(nouns) < 10 {
		t.Fatalf("found only %d texts and %d nouns", len(texts), len(nouns))
	}
	for text, at := range texts {
		if _, ok := russian[text]; !ok {
			t.Errorf("%s: %q has no Russian", at, text)
		}
	}
	for noun, at := range nouns {
		if _, ok := russianNouns[noun]; !ok {
			t.Errorf("%s: %q has no Russian forms", at, noun)
		}
	}
}

// verbs are the placeholders that texts use.
var verbs = regexp.MustCompile(`%(?:\[\d+\])?[.\d]*[a-zA-Z]`)

func TestPlaceholdersAgree(t *testing.T) {
	for english, other := range russian {
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

// The figures of what is watched that may leak are named in Russian.
func TestWatchedFiguresHaveRussianNames(t *testing.T) {
	leaking := regexp.MustCompile(`Metric\{Name: "(\w+)"[^}]*Leak: true`)
	files, err := filepath.Glob("../../observe/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range leaking.FindAllSubmatch(source, -1) {
			found++
			name := verdict.FigureName(string(m[1]))
			if name.In(units.Russian) == name.String() {
				t.Errorf("%s: %q has no Russian name", file, name)
			}
		}
	}
	if found < 9 {
		t.Errorf("found %d figures that may leak in internal/observe", found)
	}
}

// A text has one translation: of two catalogues that have it the later would win, for all that say it.
func TestTextsHaveOneTranslation(t *testing.T) {
	for _, catalogues := range [][]map[string]string{
		{russianSeries, russianReport, russianPage, russianInspect, russianCompare, russianFailures},
	} {
		said := map[string]string{}
		for _, catalogue := range catalogues {
			for english, russian := range catalogue {
				if other, ok := said[english]; ok && other != russian {
					t.Errorf("%q is %q and %q", english, other, russian)
				}
				said[english] = russian
			}
		}
	}
}
