package gen

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func newGenerator(t *testing.T, spec Spec, rows uint64) Generator {
	t.Helper()
	g, err := New(&spec, NewStream(42, "table", "column"), rows, testLookup)
	if err != nil {
		t.Fatalf("New(%+v, %d): %v", spec, rows, err)
	}
	return g
}

// testLookup has the columns "id", 0 to 99, and "name" of a table of 100 rows, and an empty table.
func testLookup(table, column string) (Generator, uint64, error) {
	switch table + "." + column {
	case "cars.id":
		return Func(func(v *Value, row uint64) { v.SetInt(int64(row)) }), 100, nil
	case "cars.name":
		return Func(func(v *Value, row uint64) { v.SetString("car " + string(rune('0'+row%10))) }), 100, nil
	case "empty.id":
		return Func(func(v *Value, row uint64) { v.SetInt(0) }), 0, nil
	}
	return nil, 0, errors.New("no such column")
}

func textsOf(g Generator, n uint64) []string {
	var v Value
	var out []string
	for i := uint64(0); i < n; i++ {
		g.Value(&v, i)
		out = append(out, string(v.AppendText(nil)))
	}
	return out
}

// everySpec returns each type with each kind of generation.
func everySpec() []Spec {
	var specs []Spec
	for _, ty := range []Type{TypeInteger, TypeUnsigned, TypeDouble, TypeDecimal, TypeString, TypeBoolean, TypeDatetime,
		TypeUUID, TypeJSON} {
		for _, d := range []Distribution{"", Uniform, Normal, Zipf, Exponential, Hotspot, Sequential, Histogram} {
			s := Spec{Type: ty, Distribution: d, NullPercent: 10}
			if d == Histogram {
				s.Buckets = []Bucket{{Weight: 3}, {Weight: 1}}
			}
			specs = append(specs, s)
		}
		specs = append(specs, Spec{Type: ty, Unique: true})
	}
	return append(specs,
		Spec{Type: TypeString, Unique: true, Alphabet: []string{"digits"}, HasRange: true, IntLo: 1, IntHi: 1},
		Spec{Type: TypeString, Alphabet: []string{"ru", "custom:日本"}},
		Spec{Type: TypeConstant, Constant: "x"},
		Spec{Type: TypeReference, Table: "cars", Column: "id", Distribution: Zipf},
		Spec{Type: TypeReference, Table: "cars", Column: "id", Unique: true})
}

func TestValuesDependOnIndexAlone(t *testing.T) {
	for _, spec := range everySpec() {
		for _, rows := range []uint64{2, 0} {
			g := newGenerator(t, spec, rows)
			forth := textsOf(g, 200)
			var v Value
			for i := len(forth) - 1; i >= 0; i-- {
				g.Value(&v, uint64(i))
				if got := string(v.AppendText(nil)); got != forth[i] {
					t.Fatalf("%+v: value %d is %q backwards and %q forwards", spec, i, got, forth[i])
				}
			}
		}
	}
}

func TestValuesAllocateNothing(t *testing.T) {
	for _, spec := range everySpec() {
		g := newGenerator(t, spec, 2)
		v := Value{B: make([]byte, 0, 1024)}
		index := uint64(0)
		if n := testing.AllocsPerRun(200, func() { g.Value(&v, index); index++ }); n != 0 {
			t.Errorf("%+v allocates %v times a value", spec, n)
		}
	}
}

func TestKindMatchesValues(t *testing.T) {
	for _, spec := range everySpec() {
		if spec.Type == TypeReference {
			continue
		}
		spec.NullPercent = 0
		var v Value
		newGenerator(t, spec, 2).Value(&v, 1)
		if v.Kind != spec.Kind() {
			t.Errorf("%+v makes kind %d and says %d", spec, v.Kind, spec.Kind())
		}
	}
}

func TestRangesHold(t *testing.T) {
	for _, c := range []struct {
		spec   Spec
		lo, hi int64
	}{
		{Spec{Type: TypeInteger}, 0, math.MaxInt32},
		{Spec{Type: TypeInteger, HasRange: true, IntLo: math.MinInt64, IntHi: math.MaxInt64}, math.MinInt64, math.MaxInt64},
		{Spec{Type: TypeInteger, HasRange: true, IntLo: -3, IntHi: -3}, -3, -3},
		{Spec{Type: TypeDatetime}, DefaultDatetimeLo, DefaultDatetimeHi},
		{Spec{Type: TypeDecimal, HasRange: true, FloatLo: 0.1, FloatHi: 0.3}, 10, 30},
		{Spec{Type: TypeDecimal, HasRange: true, FloatLo: 0.001, FloatHi: 0.029}, 1, 2},
		{Spec{Type: TypeDecimal, DecimalScale: -1, HasRange: true, FloatLo: 1.5, FloatHi: 4.5}, 2, 4},
	} {
		for _, d := range []Distribution{Uniform, Normal, Zipf, Exponential, Hotspot, Sequential} {
			c.spec.Distribution = d
			g := newGenerator(t, c.spec, 0)
			seenLo := false
			for i := uint64(0); i < 2000; i++ {
				var v Value
				g.Value(&v, i)
				if v.I < c.lo || v.I > c.hi {
					t.Fatalf("%+v: %d leaves %d to %d", c.spec, v.I, c.lo, c.hi)
				}
				seenLo = seenLo || v.I == c.lo
			}
			if d == Zipf && !seenLo {
				t.Errorf("%+v: zipf never gave the range's start, its most frequent value", c.spec)
			}
		}
	}
}

func TestIntegerExtremes(t *testing.T) {
	g := newGenerator(t, Spec{Type: TypeInteger, HasRange: true, IntLo: math.MinInt64, IntHi: math.MaxInt64}, 0)
	var negative, positive bool
	for i := uint64(0); i < 100; i++ {
		var v Value
		g.Value(&v, i)
		negative, positive = negative || v.I < math.MinInt64/2, positive || v.I > math.MaxInt64/2
	}
	if !negative || !positive {
		t.Error("the full range of int64 isn't covered")
	}
	u := newGenerator(t, Spec{Type: TypeUnsigned, HasRange: true, IntLo: -2, IntHi: -1}, 0)
	if got := textsOf(u, 50); !slices.Contains(got, "18446744073709551614") ||
		!slices.Contains(got, "18446744073709551615") {
		t.Errorf("the largest two unsigned numbers don't come: %v", got[:5])
	}
}

func TestDoubles(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{0, 1}, {-1e300, 1e300}, {-math.MaxFloat64, math.MaxFloat64}, {5, 5},
		{-2, -1}} {
		for _, d := range []Distribution{Uniform, Normal, Zipf, Exponential, Hotspot, Sequential, Histogram} {
			g := newGenerator(t, Spec{Type: TypeDouble, Distribution: d, HasRange: true, FloatLo: c.lo, FloatHi: c.hi,
				Buckets: []Bucket{{Weight: 1}, {Weight: 1}}}, 0)
			for i := uint64(0); i < 500; i++ {
				var v Value
				if g.Value(&v, i); !(v.F >= c.lo && v.F <= c.hi) {
					t.Fatalf("%s over %v: %v", d, c, v.F)
				}
			}
		}
	}
}

// Tenths of the range of a normal double: differences of scipy.stats.truncnorm.cdf over linspace(-3, 3, 11) (SciPy
// 1.17.1).
func TestNormalDoublesFit(t *testing.T) {
	p := []float64{0.00686617516564791, 0.02780785873587249, 0.0793535896176377, 0.1596143737863514, 0.226358002694489}
	p = append(p, p[4], p[3], p[2], p[1], p[0])
	const draws = 50000
	g, counts := newGenerator(t, Spec{Type: TypeDouble, Distribution: Normal}, 0), make([]float64, 10)
	for i := uint64(0); i < draws; i++ {
		var v Value
		g.Value(&v, i)
		counts[int(v.F*10)]++
	}
	fit(t, "normal double", counts, p, draws)
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		alphabet []string
		allowed  string
	}{
		{nil, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		{[]string{"digits"}, "0123456789"},
		{[]string{"hex", "digits"}, "0123456789abcdef"},
		{[]string{"custom:ж☃x", "custom:xx"}, "ж☃x"},
		{[]string{"ru"}, "абвгдеёжзийклмнопрстуфхцчшщъыьэюяАБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ"},
	} {
		g := newGenerator(t, Spec{Type: TypeString, Alphabet: c.alphabet, HasRange: true, IntLo: 3, IntHi: 40}, 0)
		allowed := []rune(c.allowed)
		counts, total := make([]float64, len(allowed)), 0.0
		for _, s := range textsOf(g, 2000) {
			if n := utf8.RuneCountInString(s); n < 3 || n > 40 {
				t.Fatalf("%q: %q has %d characters", c.alphabet, s, n)
			}
			for _, r := range s {
				i := slices.Index(allowed, r)
				if i < 0 {
					t.Fatalf("%q: %q holds %q", c.alphabet, s, r)
				}
				counts[i]++
				total++
			}
		}
		flat := make([]float64, len(allowed))
		for i := range flat {
			flat[i] = 1 / float64(len(allowed))
		}
		fit(t, c.allowed, counts, flat, total)
	}
}

func TestBooleans(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		p    float64
	}{
		{Spec{Distribution: Normal}, 0.5},
		{Spec{Distribution: Normal, Param: 3}, 0.5},
		{Spec{Distribution: Uniform, Param: 0.2}, 0.2},
		{Spec{Distribution: Zipf, Param: 1}, 1. / 3},
		{Spec{Distribution: Histogram, Buckets: []Bucket{{Weight: 1}, {Weight: 9}}}, 0.9},
	} {
		c.spec.Type = TypeBoolean
		const draws = 20000
		counts, g := make([]float64, 2), newGenerator(t, c.spec, 0)
		for i := uint64(0); i < draws; i++ {
			var v Value
			g.Value(&v, i)
			counts[v.I]++
		}
		fit(t, string(c.spec.Distribution), counts, []float64{1 - c.p, c.p}, draws)
	}
}

func TestUUIDsAreVersion4(t *testing.T) {
	for _, unique := range []bool{false, true} {
		var or, and [16]byte
		for i := range and {
			and[i] = 0xFF
		}
		g := newGenerator(t, Spec{Type: TypeUUID, Unique: unique}, 1000)
		for i := uint64(0); i < 200; i++ {
			var v Value
			g.Value(&v, i)
			for k, b := range v.B {
				or[k], and[k] = or[k]|b, and[k]&b
			}
		}
		for k := range or {
			wantOr, wantAnd := byte(0xFF), byte(0)
			switch k {
			case 6:
				wantOr, wantAnd = 0x4F, 0x40
			case 8:
				wantOr, wantAnd = 0xBF, 0x80
			}
			if or[k] != wantOr || and[k] != wantAnd {
				t.Errorf("unique=%v byte %d: bits ever set %02x, always set %02x", unique, k, or[k], and[k])
			}
		}
	}
}

func TestJSONIsValidAtEveryLength(t *testing.T) {
	for n := int64(2); n < 200; n++ {
		for _, s := range textsOf(newGenerator(t, Spec{Type: TypeJSON, HasRange: true, IntLo: n, IntHi: n}, 0), 20) {
			var object map[string]any
			if err := json.Unmarshal([]byte(s), &object); err != nil || int64(len(s)) != n {
				t.Fatalf("length %d: %q: %v", n, s, err)
			}
		}
	}
}

func TestNulls(t *testing.T) {
	with := newGenerator(t, Spec{Type: TypeInteger, NullPercent: 30}, 0)
	without := newGenerator(t, Spec{Type: TypeInteger}, 0)
	const draws = 20000
	counts := make([]float64, 2)
	for i := uint64(0); i < draws; i++ {
		var v, w Value
		with.Value(&v, i)
		without.Value(&w, i)
		if v.Kind == Null {
			counts[0]++
			continue
		}
		counts[1]++
		if !v.Equal(&w) {
			t.Fatalf("nulls change value %d from %d to %d", i, w.I, v.I)
		}
	}
	fit(t, "nulls", counts, []float64{0.3, 0.7}, draws)
	all := textsOf(newGenerator(t, Spec{Type: TypeInteger, NullPercent: 100}, 0), 100)
	if slices.ContainsFunc(all, func(s string) bool { return s != "NULL" }) {
		t.Error("100 % null leaves values")
	}
}

func TestConstants(t *testing.T) {
	at := time.Date(2015, 10, 21, 7, 28, 0, 0, time.UTC)
	for _, c := range []struct {
		value any
		want  string
	}{
		{"text", "text"}, {int64(-5), "-5"}, {uint64(math.MaxUint64), "18446744073709551615"}, {1.5, "1.5"},
		{true, "true"}, {at, "2015-10-21T07:28:00.000000Z"}, {nil, "NULL"},
	} {
		if got := textsOf(newGenerator(t, Spec{Type: TypeConstant, Constant: c.value}, 0), 2); got[0] != c.want ||
			got[1] != c.want {
			t.Errorf("constant %v gives %q, want %q", c.value, got, c.want)
		}
	}
}

func TestReferencesShareRows(t *testing.T) {
	rowStream := NewStream(1, "shared")
	spec := Spec{Type: TypeReference, Table: "cars", Column: "id", Distribution: Zipf}
	ids, err := NewReference(&spec, rowStream, 0, testLookup)
	if err != nil {
		t.Fatal(err)
	}
	spec.Column = "name"
	names, err := NewReference(&spec, rowStream, 0, testLookup)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for i := uint64(0); i < 1000; i++ {
		var id, name Value
		ids.Value(&id, i)
		names.Value(&name, i)
		if want := "car " + string(rune('0'+id.I%10)); string(name.B) != want {
			t.Fatalf("operation %d: id %d comes with %q, want %q", i, id.I, name.B, want)
		}
		seen[id.I] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d of 100 rows are referred to", len(seen))
	}
}

func TestUniqueReferenceTakesEachRowOnce(t *testing.T) {
	got := textsOf(newGenerator(t, Spec{Type: TypeReference, Table: "cars", Column: "id", Unique: true}, 100), 100)
	if n := len(distinct(got)); n != 100 || got[0] == "0" && got[1] == "1" && got[2] == "2" {
		t.Errorf("%d rows are referred to, the first %q", n, got[:3])
	}
}

func distinct(s []string) map[string]bool {
	m := map[string]bool{}
	for _, x := range s {
		m[x] = true
	}
	return m
}

func TestReferenceFaults(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		rows uint64
		want string
	}{
		{Spec{Table: "empty", Column: "id"}, 0, `table: "empty" has no rows`},
		{Spec{Table: "cars", Column: "x"}, 0, "no such column"},
		{Spec{Table: "cars"}, 0, "column: "},
		{Spec{Column: "id"}, 0, "table: "},
		{Spec{Table: "cars", Column: "id", Unique: true}, 101, "unique: 101 rows"},
		{Spec{Table: "cars", Column: "id", Distribution: Histogram, Buckets: []Bucket{{0, 100, 1}}}, 0, "histogram: "},
	} {
		c.spec.Type = TypeReference
		if _, err := New(&c.spec, NewStream(1), c.rows, testLookup); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q…", c.spec, err, c.want)
		}
	}
	if _, err := New(&Spec{Type: TypeReference, Table: "cars", Column: "id"}, NewStream(1), 0, nil); err == nil {
		t.Error("a reference without lookup is accepted")
	}
}
