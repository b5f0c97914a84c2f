package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/render/units"
)

// speaking lists the rooms whose sentences are texts in reports. Other rooms use messages.
var speaking = []string{"judge/compare", "judge/history"}

// silent lists texts in these rooms that are in no report, with the reason. Each of them must exist.
var silent = map[string]string{

	"Unit req/s better=higher\nUnit errors better=lower\n": "a format",
	"about %s runs on each side would settle it":           "JUnit's, which is English",
	"%s versions: changes show from about %s on":           "JUnit's, which is English",
}

// code matches texts for databases.
var code = regexp.MustCompile(
	`^(\.pg_|'|::|select |set |begin |prepare |deallocate |create index |savepoint |rollback | tablesample | is not null| from |format json|, analyze|double precision|character varying|timestamp )`)

// prose matches sentences: two words in lower case next to each other.
var prose = regexp.MustCompile(`(^|[^\w])[a-z][a-z']+[,;:]? [a-z']+`)

// proseOf returns the literals of a room or file that look like sentences, except for errors, which are always in
// English.
func proseOf(t *testing.T, room string) map[string]string {
	t.Helper()
	pattern := filepath.Join("../..", room)
	if !strings.HasSuffix(room, ".go") {
		pattern = filepath.Join(pattern, "*.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", room, err)
	}
	out := map[string]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				return n.Tag == nil
			case *ast.CallExpr:
				// Errors, and texts that another test checks.
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Errorf", "New", "Label", "Plural"},
					s.Sel.Name) {
					return false
				}
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return false
				}
				if s, err := strconv.Unquote(n.Value); err == nil && prose.MatchString(s) && !code.MatchString(s) {
					out[s] = fset.Position(n.Pos()).String()
				}
			}
			return true
		})
	}
	return out
}

// shape replaces all placeholders of a format by the same text.
func shape(format string) string {
	format = strings.ReplaceAll(format, "%q", `"%s"`)
	format = verbs.ReplaceAllString(format, "%s")
	return strings.ReplaceAll(format, "%s %%", "%s")
}

// A text in these rooms that isn't a message has a translation in the catalogue of words.
func TestTextsOfRoomsHaveRussian(t *testing.T) {
	var catalogue []string
	for english := range of(units.Russian).Labels {
		catalogue = append(catalogue, shape(english))
	}
	// A piece is known if a sentence contains all of it between placeholders, in order. Pieces may be arguments.
	known := func(piece string) bool {
		return slices.ContainsFunc(catalogue, func(sentence string) bool {
			for part := range strings.SplitSeq(piece, "%s") {
				_, after, found := strings.Cut(sentence, strings.TrimSpace(part))
				if !found {
					return false
				}
				sentence = after
			}
			return true
		})
	}
	quiet, seen, used := map[string]bool{}, 0, map[string]bool{}
	for s := range silent {
		quiet[s] = true
	}
	for _, room := range speaking {
		for text, at := range proseOf(t, room) {
			for piece := range strings.SplitSeq(shape(text), "; ") {
				piece = strings.Trim(piece, " ;:,.")
				seen++
				switch {
				case quiet[piece] || quiet[shape(text)]:
					used[piece], used[shape(text)] = true, true
				case !known(piece):
					t.Errorf("%s: there is no Russian for %q", at, piece)
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d sentences were found", seen)
	}
	for s := range silent {
		if !used[s] {
			t.Errorf("nobody says %q", s)
		}
	}
}

// latin matches words in Latin letters.
var latin = regexp.MustCompile(`[A-Za-z][A-Za-z'’]+`)

// Russian texts contain no English.
func TestRussianIsRussian(t *testing.T) {
	for english, r := range of(units.Russian).Labels {
		if plain := verbs.ReplaceAllString(r, ""); !regexp.MustCompile(`[а-яё]`).MatchString(strings.ToLower(plain)) &&
			latin.MatchString(plain) && shape(english) != shape(r) {
			t.Errorf("%q is %q", english, r)
		}
	}
}
