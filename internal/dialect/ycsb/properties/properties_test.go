package properties

import (
	"errors"
	"strings"
	"testing"
)

// The cases are from the documentation of java.util.Properties.load.
func TestParse(t *testing.T) {
	for text, want := range map[string][]Pair{
		"a=b":                             {{"a", "b", 1, false}},
		"  a = b ":                        {{"a", "b", 1, true}},
		"a:b\n\n# c\n! d\nTruth : Beauty": {{"a", "b", 1, false}, {"Truth", "Beauty", 5, false}},
		"Truth:Beauty":                    {{"Truth", "Beauty", 1, false}},
		"fruits  apple, \\\n   banana, \\\r\n  pear": {{"fruits", "apple, banana, pear", 1, false}},
		"cheeses":                 {{"cheeses", "", 1, false}},
		"; target=2000":           {{";", "target=2000", 1, false}},
		`a\ b\=c=d\te\u0041\q`:    {{"a b=c", "d\teAq", 1, false}},
		`path=c:\\x` + "\nk=v":    {{"path", `c:\x`, 1, false}, {"k", "v", 2, false}},
		"a=b\\":                   {{"a", "b", 1, false}},
		"\ufeffrecordcount=1\r\n": {{"recordcount", "1", 1, false}},
		"a=b\\ ":                  {{"a", "b ", 1, false}},
		"a=b\\ \t ":               {{"a", "b ", 1, true}},
		`a=b \# c`:                {{"a", "b # c", 1, false}},
		"a=b#c":                   {{"a", "b#c", 1, false}},
		"pg.password=x #y ":       {{"pg.password", "x #y ", 1, false}},
		"k==v":                    {{"k", "=v", 1, false}},
	} {
		got, err := Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %+v, want %+v", text, got[i], want[i])
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"\nk=\\u12":                     "f:2",
		"k=\\u12g4":                     "hexadecimal",
		"k=\xff":                        "UTF-8",
		"k\\uzzzz=\n":                   "f:1",
		"\nrecordcount=1000 # of which": `f:2: property recordcount: "# of which" is part of its value`,
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func set(pairs ...string) *Set {
	s := NewSet()
	for i := 0; i < len(pairs); i += 2 {
		s.Put(pairs[i], pairs[i+1], "f:"+pairs[i])
	}
	return s
}

func TestExpand(t *testing.T) {
	s := set("a", "1${b}3", "b", "${HOME_OF}2", "c", "${none}.", "d", "$x {y}")
	err := s.Expand(func(k string) (string, bool) {
		if k == "HOME_OF" {
			return "env", true
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"a": "1env23", "b": "env2", "c": ".", "d": "$x {y}"} {
		if got, _ := s.Get(k); got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	for _, bad := range []*Set{set("a", "${b}", "b", "${a}"), set("a", "${a}"), set("a", "${b")} {
		if err := bad.Expand(func(string) (string, bool) { return "", false }); err == nil ||
			!strings.HasPrefix(err.Error(), "f:a") {
			t.Errorf("%v: %v", bad.values, err)
		}
	}
	long := set()
	for c := 'a'; c < 'z'; c++ {
		long.Put(string(c), strings.Repeat("${"+string(c+1)+"}", 10), "f")
	}
	long.Put("z", "xxxxxxxxxx", "f")
	if err := long.Expand(func(string) (string, bool) { return "", false }); err == nil {
		t.Error("a value of 10^26 bytes was accepted")
	}
}

func TestTypes(t *testing.T) {
	s := set("n", " 500 ", "x", "0.25", "b", "Yes", "d", "2s", "w", "JAVA")
	r := &Reader{Set: s}
	if n := r.Int("n", 1, 0, 1000); n != 500 {
		t.Error(n)
	}
	if n := r.Int("none", 7, 0, 1); n != 7 {
		t.Error(n)
	}
	if x := r.Float("x", 1, 0, 1); x != 0.25 {
		t.Error(x)
	}
	if !r.Bool("b", false) {
		t.Error("Yes isn't true")
	}
	if w := r.Choice("w", "", "goycsb", "java"); w != "java" {
		t.Error(w)
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
	for name, read := range map[string]func(r *Reader){
		"n": func(r *Reader) { r.Int("n", 1, 0, 499) }, "x": func(r *Reader) { r.Int("x", 1, 0, 9) },
		"b": func(r *Reader) { r.Float("b", 1, 0, 1) },
		"w": func(r *Reader) { r.Bool("w", false) }, "d": func(r *Reader) { r.Choice("d", "", "a", "b") },
	} {
		r := &Reader{Set: s}
		read(r)
		r.Keep(errors.New("a later one"))
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "f:"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a=b\\\n c\n#d\ne\\u0041 f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pairs, err := Parse("f", data)
		if err != nil {
			return
		}
		s := NewSet()
		last := 0
		for _, p := range pairs {
			if p.Line <= last {
				t.Fatalf("line %d after line %d", p.Line, last)
			}
			last = p.Line
			s.Put(p.Key, p.Value, "f")
		}
		_ = s.Expand(func(string) (string, bool) { return "", false })
	})
}
