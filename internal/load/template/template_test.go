package template_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
)

func text(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }

func TestAppend(t *testing.T) {
	args := []gen.Value{text("one"), {Kind: gen.Int, I: -2}, {Kind: gen.Null}}
	for in, want := range map[string]string{
		"":                        "",
		"plain":                   "plain",
		"$1":                      "one",
		"a$1b$2c":                 "aoneb-2c",
		"$1$1$2":                  "oneone-2",
		"<$3>":                    "<>",
		"$$1":                     "$1",
		"$$$1$$":                  "$one$",
		"$filter=a":               "$filter=a",
		"5$":                      "5$",
		"$2a":                     "-2a",
		"{\"a\":$2,\"b\":\"$1\"}": "{\"a\":-2,\"b\":\"one\"}",
	} {
		p, err := template.Parse(in, len(args))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got, ok := p.Append(nil, args, nil); !ok || string(got) != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, ok, want)
		}
	}
}

func TestParseRefusesUnknownParameters(t *testing.T) {
	for _, in := range []string{"$0", "$3", "a$12", "$99999999999999999999999"} {
		if _, err := template.Parse(in, 2); err == nil || !strings.Contains(err.Error(), "there are 2") {
			t.Errorf("%q: got %v", in, err)
		}
	}
}

func TestFixedAndOnly(t *testing.T) {
	for in, want := range map[string][2]bool{"": {true, false}, "x": {true, false}, "$1": {false, true},
		"x$1": {false, false}, "$1x": {false, false}} {
		p, err := template.Parse(in, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, fixed := p.Fixed()
		_, only := p.Only()
		if fixed != want[0] || only != want[1] {
			t.Errorf("%q: fixed %v, only %v; want %v", in, fixed, only, want)
		}
	}
}

func TestEscapeMayRefuse(t *testing.T) {
	p, err := template.Parse("a$1", 1)
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	_, ok := p.Append([]byte(">"), []gen.Value{text("v")}, func(dst []byte, from int) ([]byte, bool) {
		seen = string(dst[from:])
		return dst, false
	})
	if ok || seen != "v" {
		t.Errorf("got %v after seeing %q", ok, seen)
	}
}

func TestAppendValue(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 58, 120_000_000, time.UTC).UnixMicro()
	for _, c := range []struct {
		v    gen.Value
		want string
	}{
		{gen.Value{Kind: gen.Null, B: []byte("old")}, ""},
		{gen.Value{Kind: gen.Bool, I: 1}, "true"},
		{gen.Value{Kind: gen.Bool}, "false"},
		{gen.Value{Kind: gen.Int, I: -1 << 63}, "-9223372036854775808"},
		{gen.Value{Kind: gen.Uint, I: -1}, "18446744073709551615"},
		{gen.Value{Kind: gen.Float, F: 0.1}, "0.1"},
		{gen.Value{Kind: gen.Float, F: math.Inf(1)}, "inf"},
		{gen.Value{Kind: gen.Float, F: math.Inf(-1)}, "-inf"},
		{gen.Value{Kind: gen.Decimal, I: -12345, Scale: 2}, "-123.45"},
		{gen.Value{Kind: gen.Decimal, I: 5, Scale: 3}, "0.005"},
		{gen.Value{Kind: gen.Decimal, I: 500, Scale: 3}, "0.500"},
		{gen.Value{Kind: gen.Decimal, I: 7}, "7"},
		{gen.Value{Kind: gen.Decimal, I: -1 << 63, Scale: 19}, "-0.9223372036854775808"},
		{gen.Value{Kind: gen.Bytes, B: []byte{0, 255}}, "\x00\xff"},
		{gen.Value{Kind: gen.JSON, B: []byte(`{"a":1}`)}, `{"a":1}`},
		{gen.Value{Kind: gen.Datetime, I: at}, "2024-02-29T23:59:58.12Z"},
		{gen.Value{Kind: gen.UUID, B: []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")},
			"00112233-4455-6677-8899-aabbccddeeff"},
	} {
		if got := template.AppendValue(nil, &c.v); string(got) != c.want {
			t.Errorf("%+v: got %q, want %q", c.v, got, c.want)
		}
	}
}

func TestSetText(t *testing.T) {
	for _, c := range []struct {
		kind gen.Kind
		text string
		want gen.Value
	}{
		{gen.Null, "a", gen.Value{Kind: gen.String, B: []byte("a")}},
		{gen.String, "", gen.Value{Kind: gen.String}},
		{gen.Datetime, "2024", gen.Value{Kind: gen.String, B: []byte("2024")}},
		{gen.Bytes, "\x00", gen.Value{Kind: gen.Bytes, B: []byte{0}}},
		{gen.JSON, "{}", gen.Value{Kind: gen.JSON, B: []byte("{}")}},
		{gen.Int, "-9223372036854775808", gen.Value{Kind: gen.Int, I: -1 << 63}},
		{gen.Int, "1.5", gen.Value{Kind: gen.Null}},
		{gen.Uint, "18446744073709551615", gen.Value{Kind: gen.Uint, I: -1}},
		{gen.Uint, "-1", gen.Value{Kind: gen.Null}},
		{gen.Float, "1e3", gen.Value{Kind: gen.Float, F: 1000}},
		{gen.Bool, "true", gen.Value{Kind: gen.Bool, I: 1}},
		{gen.Bool, "0", gen.Value{Kind: gen.Bool}},
		{gen.Bool, "yes", gen.Value{Kind: gen.Null}},
	} {
		v := gen.Value{Kind: gen.Int, B: append(make([]byte, 0, 64), c.text...)}
		template.SetText(&v, c.kind, v.B)
		same := v.Kind == c.want.Kind
		switch v.Kind {
		case gen.String, gen.Bytes, gen.JSON:
			same = same && string(v.B) == string(c.want.B)
		case gen.Float:
			same = same && v.F == c.want.F
		case gen.Int, gen.Uint, gen.Bool:
			same = same && v.I == c.want.I
		}
		if !same {
			t.Errorf("%q as kind %d: got %+v", c.text, c.kind, v)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	p, err := template.Parse("key:$1:$2:$3:$4:$5", 5)
	if err != nil {
		t.Fatal(err)
	}
	args := []gen.Value{text("k"), {Kind: gen.Float, F: 1.5}, {Kind: gen.Decimal, I: 15, Scale: 1},
		{Kind: gen.UUID, B: make([]byte, 16)}, {Kind: gen.Datetime, I: 1}}
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { p.Append(dst, args, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a$1$$b$2")
	f.Add("$")
	args := []gen.Value{text("$1"), text("$$")}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := template.Parse(in, 2)
		if err != nil {
			return
		}
		out, ok := p.Append(nil, args, nil)
		if !ok {
			t.Fatal("refused without an escape")
		}
		if !strings.Contains(in, "$") && string(out) != in {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestSingle(t *testing.T) {
	for _, c := range []struct {
		text          string
		before, after string
		param         int
		ok            bool
	}{
		{"$2", "", "", 1, true},
		{"k:$1", "k:", "", 0, true},
		{"k:$3:x", "k:", ":x", 2, true},
		{"$1$2", "", "", 0, false},
		{"$1-$1", "", "", 0, false},
		{"plain", "", "", 0, false},
		{"", "", "", 0, false},
	} {
		parsed, err := template.Parse(c.text, 3)
		if err != nil {
			t.Fatal(err)
		}
		before, param, after, ok := parsed.Single()
		if string(before) != c.before || string(after) != c.after || param != c.param || ok != c.ok {
			t.Errorf("%q: %q, %d, %q, %v", c.text, before, param, after, ok)
		}
	}
}
