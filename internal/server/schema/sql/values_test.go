package sql

import (
	"testing"

	"brunt/internal/load/gen"
)

var uuidRaw = []byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0x00}

const instant = 940928400000000 // 1999-10-26T09:00:00Z, date -u -d … +%s

func samples() []gen.Value {
	return []gen.Value{
		{Kind: gen.Null}, {Kind: gen.Bool, I: 1}, {Kind: gen.Int, I: -5}, {Kind: gen.Uint, I: 7}, {Kind: gen.Uint, I: -1},
		{Kind: gen.Float, F: 1.5}, {Kind: gen.Decimal, I: -5, Scale: 2}, {Kind: gen.String, B: []byte("it's")},
		{Kind: gen.Bytes, B: []byte{0, 255}}, {Kind: gen.Datetime, I: instant}, {Kind: gen.UUID, B: uuidRaw},
		{Kind: gen.JSON, B: []byte(`{"a":1}`)},
	}
}

func TestLiteral(t *testing.T) {
	const id = "123e4567-e89b-12d3-a456-426614174000"
	for product, want := range map[string][]string{
		"PostgreSQL": {"NULL", "true", "-5", "7", "18446744073709551615", "1.5e+00", "-0.05", "'it''s'", `'\x00ff'::bytea`,
			"CAST('1999-10-26T09:00:00.000000Z' AS TIMESTAMPTZ)", "CAST('" + id + "' AS UUID)", `CAST('{"a":1}' AS JSONB)`},
		"Picodata": {"NULL", "true", "-5", "7", "18446744073709551615", "1.5e+00", "-0.05", "'it''s'", "x'00ff'",
			"CAST('1999-10-26T09:00:00.000000Z' AS DATETIME)", "CAST('" + id + "' AS UUID)", `CAST('{"a":1}' AS JSON)`},
		"Tarantool": {"NULL", "true", "-5", "7", "18446744073709551615", "1.5e+00", "-5e-02", "'it''s'", "x'00ff'",
			"940928400000000", "'" + id + "'", `'{"a":1}'`},
		"SQLite": {"NULL", "1", "-5", "7", "18446744073709551615", "1.5e+00", "-5e-02", "'it''s'", "x'00ff'",
			"'1999-10-26T09:00:00.000000Z'", "'" + id + "'", `'{"a":1}'`},
	} {
		f := flavor(t, product)
		for i, v := range samples() {
			same(t, product, f.Literal(&v), want[i], nil)
		}
	}
}

// Columns, parameters and literals must agree: each kind is converted to the kind that ParamKind returns.
func TestConvertAgreesWithParamKind(t *testing.T) {
	for _, p := range products {
		f := flavor(t, p)
		for i := range samples() {
			one := gen.Func(func(v *gen.Value, _ uint64) { s := samples()[i]; v.Set(&s) })
			var v gen.Value
			f.Wrap(one).Value(&v, 0)
			from := samples()[i]
			if want := f.ParamKind(from.Kind); v.Kind != want && !(from.Kind == gen.Uint && from.I < 0 && v.Kind == gen.Uint) {
				t.Errorf("%s: kind %d became %d, want %d", p, from.Kind, v.Kind, want)
			}
			row := []gen.Value{samples()[i]}
			row[0].B = append([]byte(nil), row[0].B...)
			f.WrapRow(func([]gen.Value, uint64) {})(row, 0)
			if row[0].Kind != v.Kind || string(row[0].B) != string(v.B) || row[0].F != v.F {
				t.Errorf("%s: a row's value is %+v but a parameter's %+v", p, row[0], v)
			}
		}
	}
}

func TestWrapAllocatesNothing(t *testing.T) {
	f := flavor(t, "SQLite")
	src := samples()
	g := f.Wrap(gen.Func(func(v *gen.Value, i uint64) { v.Set(&src[i]) }))
	var v gen.Value
	v.B = make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		for i := range src {
			g.Value(&v, uint64(i))
		}
	}); n != 0 {
		t.Errorf("converting allocates %v times", n)
	}
}

func TestQueries(t *testing.T) {
	f := flavor(t, "Tarantool")
	same(t, "count", f.CountRows(`a"b`), `SELECT COUNT(*) FROM "a""b"`, nil)
	after := []gen.Value{{Kind: gen.Int, I: 3}, {Kind: gen.Datetime, I: 5}}
	same(t, "all", f.SelectAll("t", []string{"a", `b"c`}), `SELECT "a", "b""c" FROM "t"`, nil)
	same(t, "range", f.SelectByKey("t", []string{"a"}, "a", &after[0], &after[0]),
		`SELECT "a" FROM "t" WHERE "a" BETWEEN 3 AND 3`, nil)
	same(t, "list", f.SelectIn("t", []string{"a"}, "b", after), `SELECT "a" FROM "t" WHERE "b" IN (3, 5)`, nil)
	if n := f.MostRows(4); n != 0 {
		t.Errorf("Tarantool's answers are bounded to %d rows", n)
	}
	// Reading a row takes about columns + 5 of the 45 000 steps.
	for _, columns := range []int{1, 4, 50, 1000} {
		if n := flavor(t, "Picodata").MostRows(columns); n == 0 || n*uint64(columns+5) > 45_000 {
			t.Errorf("%d rows of %d columns", n, columns)
		}
	}
}
