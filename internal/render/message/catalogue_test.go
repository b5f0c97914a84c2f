package message

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/render/units"
)

// use is a message that the code creates, with the kinds of its arguments.
type use struct {
	at   string
	args map[string]string // nil if the arguments are created elsewhere
}

// kinds maps each function that creates an argument to its kind.
var kinds = map[string]string{
	"Count": "count", "Number": KindNumber, "Signed": KindSigned, "Ns": "ns", "Span": KindSpan, "Rate": "per_s",
	"Share": "share", "Part": "share",
	"Change": "change", "Bytes": "bytes", "Figure": "ns", "Beside": "ns", "Text": KindText, "Nested": KindMessage,
}

// scan finds the messages that the code creates. An id must be a text or a constant, except in NewOr, whose ids begin
// with a text.
func scan(t *testing.T) (uses map[string][]use, prefixes []string) {
	uses = map[string][]use{}
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "../../render/message/") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, all := range packages {
		constants := constantsOf(all)
		for _, file := range all {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := callee(call)
				if name == "message.NewOr" {
					prefixes = append(prefixes, firstText(call.Args[0]))
					return true
				}
				made := name == "message.New" || name == "message.Errorf"
				warns := strings.HasSuffix(name, "record.NewWarning") || strings.HasSuffix(name, "record.Notice") ||
					room == "../../record" && (name == "NewWarning" || name == "Notice")
				if !made && !warns || len(call.Args) == 0 {
					return true
				}
				at := files.Position(call.Pos()).String()
				id, known := textOf(call.Args[0], constants)
				if !known {
					if room != "../../record" { // NewWarning and Notice are defined there
						t.Errorf("%s: the id of a message is neither a text nor a constant", at)
					}
					return true
				}
				u := use{at: at, args: argsOf(call)}
				uses[id] = append(uses[id], u)
				if strings.HasSuffix(name, "NewWarning") {
					uses[id+".remedy"] = append(uses[id+".remedy"], u)
				}
				return true
			})
		}
	}
	return uses, prefixes
}

// constantsOf returns the constants of a package that are texts.
func constantsOf(all []*ast.File) map[string]string {
	out := map[string]string{}
	for _, file := range all {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for i, name := range v.Names {
					if i < len(v.Values) {
						if text, ok := textOf(v.Values[i], nil); ok {
							out[name.Name] = text
						}
					}
				}
			}
			return true
		})
	}
	return out
}

func callee(call *ast.CallExpr) string {
	f := call.Fun
	if x, ok := f.(*ast.IndexExpr); ok {
		f = x.X
	}
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

func textOf(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, ok := constants[e.Name]
		return text, ok
	}
	return "", false
}

// firstText returns the text at the beginning of an expression.
func firstText(e ast.Expr) string {
	if b, ok := e.(*ast.BinaryExpr); ok {
		return firstText(b.X)
	}
	text, _ := textOf(e, nil)
	return text
}

// argsOf returns the arguments of a message with their kinds, or nil if one of them is created elsewhere.
func argsOf(call *ast.CallExpr) map[string]string {
	out := map[string]string{}
	for _, a := range call.Args[1:] {
		made, ok := a.(*ast.CallExpr)
		if !ok {
			return nil
		}
		name, _ := strings.CutPrefix(callee(made), "message.")
		if kinds[name] == "" || len(made.Args) == 0 {
			return nil
		}
		text, _ := textOf(made.Args[0], nil)
		out[text] = kinds[name]
	}
	return out
}

// argsIn compiles all messages of a language and returns the names of their arguments.
func argsIn(l units.Language) map[string][]string {
	out := map[string][]string{}
	for id := range of(l).Messages {
		out[id], _ = of(l).names(id)
	}
	return out
}

// The code, English and Russian have the same messages with the same arguments.
func TestCodeAndLanguagesAgree(t *testing.T) {
	uses, prefixes := scan(t)
	english := argsIn(units.English)
	if len(uses) < 100 {
		t.Fatalf("found only %d messages in the code", len(uses))
	}
	for id, all := range uses {
		names, ok := english[id]
		if !ok {
			t.Errorf("%s: no text for %q", all[0].at, id)
			continue
		}
		for _, u := range all {
			for _, name := range names {
				if u.args != nil && u.args[name] == "" {
					t.Errorf("%s: the text of %q wants the argument %q", u.at, id, name)
				}
			}
		}
	}
	for id := range english {
		prefixed := slices.ContainsFunc(prefixes, func(p string) bool { return p != "" && strings.HasPrefix(id, p) })
		if uses[id] == nil && !prefixed {
			t.Errorf("nothing in the code makes %q", id)
		}
	}
	for l := range languages {
		args := argsIn(l)
		for id, names := range english {
			other, ok := args[id]
			if !ok {
				t.Errorf("%s: no text for %q", l, id)
			} else if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(other))) {
				t.Errorf("%s: %q has the arguments %q, in English %q", l, id, other, names)
			}
		}
		for id := range args {
			if _, ok := english[id]; !ok {
				t.Errorf("%s: %q has no text in English", l, id)
			}
		}
	}
}

// Each text is formatted once for each plural form.
func TestEveryTextIsMade(t *testing.T) {
	uses, _ := scan(t)
	for l := range languages {
		for id, names := range argsIn(l) {
			made := map[string]string{}
			for _, u := range uses[id] {
				maps.Copy(made, u.args)
			}
			for _, n := range []float64{1, 2, 5, 21} {
				var args []Arg
				for _, name := range names {
					a := Arg{Name: name, Kind: made[name], Number: n, Text: "a text", Messages: []Message{Literal("a message")}}
					if a.Kind == "" {
						a.Kind = "count"
					}
					if a.Kind == "share" {
						a.Number = 1 / n
					}
					args = append(args, a)
				}
				if text := New(id, args...).In(l); text == "" || strings.ContainsAny(text, "\n") || strings.Contains(text, "${") ||
					strings.Contains(text, "%!") {
					t.Errorf("%s: %s: %q", l, id, text)
				}
			}
		}
	}
}

// Messages with the same English text must have the same text in each language, because files refer to texts by their
// English.
func TestTextsDiffer(t *testing.T) {
	english := of(units.English)
	for l := range languages {
		f := of(l)
		by := map[string]string{}
		for id, text := range english.Messages {
			if other, twice := by[text]; twice && f.Messages[id] != f.Messages[other] {
				t.Errorf("%s and %s read the same in English, but not in %s: %q", id, other, l, text)
			}
			by[text] = id
		}
	}
}

func TestPlurals(t *testing.T) {
	for n, want := range map[int][2]string{
		1: {"1 threshold holds", "1 порог соблюдён"}, 2: {"2 thresholds hold", "2 порога соблюдены"},
		5: {"5 thresholds hold", "5 порогов соблюдено"}, 11: {"11 thresholds hold", "11 порогов соблюдено"},
		21: {"21 thresholds hold", "21 порог соблюдён"}, 1234: {"1,234 thresholds hold", "1\u00a0234 порога соблюдены"},
	} {
		m := New("verdict.thresholds-hold", Count("n", n))
		if got := [2]string{m.String(), m.In(units.Russian)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// Messages that are written to a file and read back are the same, including arguments.
func TestTables(t *testing.T) {
	type file struct {
		Why      Message
		Warnings []struct{ Text Message }
		Messages Table
	}
	in := file{Why: New("verdict.late", Ns("added", 1), Nested("of", New("response.p99")), Ns("response", 1e18*10),
		Ns("most", 2), Nested("cause", Message{}),
		Nested("remedy", Sentences(New("remedy.library"), Literal("by hand"))))}
	in.Messages = TableOf(in)
	out := file{Why: Literal(in.Why.String()), Messages: in.Messages}
	if err := out.Messages.Resolve(&out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.Why.In(units.Russian), in.Why.In(units.Russian); got != want || out.Why.ID != in.Why.ID {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if unknown := (Table{"a text": {ID: "of-a-newer-version"}}); unknown.Resolve(&out) != nil || out.Why.ID != in.Why.ID {
		t.Errorf("%+v", out.Why)
	}
	older := file{Why: Literal("a text"), Messages: Table{"a text": {ID: "inspect-mysql-servers",
		Args: map[string]value{"first": {KindText: "a"}, "second": {KindText: "b"}}}}}
	err := older.Messages.Resolve(&older)
	if got := older.Why.In(units.Russian); err != nil || !strings.Contains(got, "разные серверы (a, b)") {
		t.Errorf("%q, %v", got, err)
	}
}

// A share above 1 is an error and is never printed.
func TestShares(t *testing.T) {
	for _, share := range []float64{-0.5, 65.58, 2833.02} {
		m := Sentences(New("verdict.held", Share("share", share)))
		if faults := Faults([]Message{m}); len(faults) != 1 {
			t.Errorf("%g: faults %q", share, faults)
		}
		if text := m.String(); !strings.Contains(text, " 0 % ") && !strings.Contains(text, " 100 % ") {
			t.Errorf("%g: %s", share, text)
		}
	}
	if faults := Faults(New("no-such-message")); len(faults) != 1 {
		t.Error(fmt.Sprint(faults))
	}
}
