package fill

import (
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"integer", "42", "42"}, {"integer", "-0", "0"}, {"integer", "+7", "7"},
		{"unsigned", "18446744073709551615", "18446744073709551615"},
		{"decimal", "12.50", "12.5"}, {"decimal", "-12.00", "-12"}, {"decimal", "0.000", "0"}, {"decimal", ".5", "0.5"},
		{"decimal", "1.25E+2", "125"}, {"decimal", "5E-3", "0.005"}, {"decimal", "1e999999999", "1e999999999"},
		{"decimal", "NaN", "NaN"},
		{"double", "1e-7", "1e-07"}, {"double", "0.10", "0.1"}, {"double", "-0", "0"},
		{"double", "100000000000000000000", "1e+20"}, {"double", "x", "x"},
		{"boolean", "t", "true"}, {"boolean", "TRUE", "true"}, {"boolean", "1", "true"}, {"boolean", "f", "false"},
		{"boolean", "maybe", "maybe"},
		{"datetime", "2024-02-29T12:00:00.5Z", "1709208000500000"},
		{"datetime", "2024-02-29 15:00:00.5+03", "1709208000500000"},
		{"datetime", "2024-02-29 12:00:00.500000+00:00", "1709208000500000"},
		{"datetime", "2024-02-29 12:00:00.5", "1709208000500000"},
		{"datetime", "1709208000500000", "1709208000500000"}, {"datetime", "2024-02-29", "1709164800000000"},
		{"datetime", "soon", "soon"},
		{"uuid", "{0AC1B2D3-0000-4000-8000-00000000000F}", "0ac1b2d30000400080000000" + "0000000f"},
		{"json", `{"b": 1.0, "a":[true, null,"<"]}`, `{"a":[true,null,"<"],"b":1}`}, {"json", `{} {}`, `{} {}`},
		{"json", `{`, `{`},
		{"string", " A1 ", " A1 "}, {"other", "+1", "+1"},
	} {
		if got := canonical(c.kind, c.text); got != c.want {
			t.Errorf("%s %q is %q, want %q", c.kind, c.text, got, c.want)
		}
	}
}

func TestRowHashTellsRowsApart(t *testing.T) {
	h := newRowHash([]protocol.Column{{Name: "a", Type: "string"}, {Name: "b", Type: "string"}})
	text := func(s string) *string { return &s }
	seen := map[uint64]int{}
	for i, row := range [][]*string{
		{text("ab"), text("c")}, {text("a"), text("bc")}, {text(""), nil}, {nil, text("")}, {nil, nil}, {text("NULL"), nil},
		{text("x")},
	} {
		if j, ok := seen[h.read(row)]; ok {
			t.Errorf("rows %d and %d have one checksum", i, j)
		}
		seen[h.read(row)] = i
	}
	values := make([]gen.Value, 2)
	values[0].SetString("ab")
	values[1].SetNull()
	if h.generated(values) != h.read([]*string{text("ab"), nil}) {
		t.Error("a row read back differs from the one generated")
	}
}

func FuzzCanonical(f *testing.F) {
	kinds := []string{"integer", "decimal", "double", "boolean", "datetime", "uuid", "json"}
	for i, text := range []string{"1", "-1.50e3", "NaN", "t", "2024-01-01 00:00:00+00", "{a-b}", `{"a":[1.0]}`} {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		k := kinds[int(kind)%len(kinds)]
		if once := canonical(k, text); canonical(k, once) != once {
			t.Errorf("%s %q: %q becomes %q", k, text, once, canonical(k, once))
		}
	})
}
