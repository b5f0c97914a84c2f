package sqltext

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for statement, want := range map[string][]Kind{
		"select $1::int":            {Word, Space, Param, Cast, Word},
		"a='it''s -- $1' -- $2\n=?": {Word, Sign, Text, Space, Space, Sign, Mark},
		`"a$1" /* $1 /* x */ */ .5`: {Quoted, Space, Space, Space, Number},
		"$tag$ $1 $tag$ $x":         {Text, Space, Param},
		`e'\' $1' x$1`:              {Text, Space, Word},
		"'open":                     {Text},
	} {
		var got []Kind
		for _, tk := range Split(statement) {
			got = append(got, tk.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: kinds %v, want %v", statement, got, want)
		}
	}
}

func TestParameter(t *testing.T) {
	for _, c := range []struct {
		token Token
		n     int
		ok    bool
	}{
		{Token{Param, "$1"}, 1, true},
		{Token{Param, "$65535"}, 65535, true},
		{Token{Param, "$name"}, 0, false},
		{Token{Param, ":1"}, 0, false},
		{Token{Word, "a"}, 0, false},
	} {
		if n, ok := c.token.Parameter(); n != c.n || ok != c.ok {
			t.Errorf("%v: parameter %d %v, want %d %v", c.token, n, ok, c.n, c.ok)
		}
	}
	if n, ok := (Token{Param, "$99999999999999999999"}).Parameter(); !ok || n < 1<<31-1 {
		t.Errorf("a number beyond every int is %d %v, want the greatest", n, ok)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"select $1::integer", "$$a$$ 'b' \"c\" -- d\n/* e */ ?", "e'\\''", "1e+5.:@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		Mentions(s, []string{"t"})
		var all strings.Builder
		for _, tk := range Split(s) {
			if tk.Text == "" {
				t.Fatalf("%q: an empty token", s)
			}
			tk.Parameter()
			all.WriteString(tk.Text)
		}
		if all.String() != s {
			t.Fatalf("%q: the tokens make %q", s, all.String())
		}
	})
}

func TestPath(t *testing.T) {
	for name, want := range map[string]string{
		"cars": "cars", "app.cars": "app|cars", `"app.cars"`: "app.cars", `"my.app".cars`: "my.app|cars",
		`app."a""b.c"`: `app|a"b.c`, "`a.b`.c": "a.b|c", "db.app.cars": "db|app|cars", `"open.cars`: `"open|cars`,
		".cars": ".cars", "cars.": "cars.", `"a"b`: `"a"b`, "": "",
	} {
		if got := strings.Join(Path(name), "|"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := QuoteTable(`app."a.b"`); got != `"app"."a.b"` {
		t.Error(got)
	}
}
