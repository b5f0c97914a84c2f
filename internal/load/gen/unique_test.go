package gen

import (
	"math"
	"strconv"
	"testing"
)

func TestUniqueValuesDiffer(t *testing.T) {
	digits := func(lo, hi int64) Spec {
		return Spec{Type: TypeString, Alphabet: []string{"digits"}, HasRange: true, IntLo: lo, IntHi: hi}
	}
	ranged := func(ty Type, lo, hi int64) Spec { return Spec{Type: ty, HasRange: true, IntLo: lo, IntHi: hi} }
	for _, c := range []struct {
		spec Spec
		rows uint64
	}{
		{ranged(TypeInteger, -50, 49), 100},
		{ranged(TypeInteger, math.MinInt64, math.MaxInt64), 1000},
		{ranged(TypeUnsigned, -100, -1), 100},
		{ranged(TypeDatetime, 1, 1000), 1000},
		{Spec{Type: TypeDatetime}, 5000},
		{Spec{Type: TypeDecimal, HasRange: true, FloatLo: -1, FloatHi: 1}, 201},
		{Spec{Type: TypeDouble}, 5000},
		{Spec{Type: TypeDouble, HasRange: true, FloatLo: 1, FloatHi: math.Nextafter(1, 2)}, 1},
		{Spec{Type: TypeDouble, HasRange: true, FloatLo: -math.MaxFloat64, FloatHi: math.MaxFloat64}, 5000},
		{Spec{Type: TypeBoolean}, 2},
		{Spec{Type: TypeUUID}, 5000},
		{Spec{Type: TypeJSON}, 5000},
		{Spec{Type: TypeString}, 5000},
		{Spec{Type: TypeString, Distribution: Zipf, Alphabet: []string{"ru", "en"}}, 5000},
		{digits(1, 3), 1110}, {digits(0, 2), 111}, {digits(3, 3), 1000}, {digits(2, 5), 101}, {digits(0, 0), 1},
		{Spec{Type: TypeString, Alphabet: []string{"custom:a"}, HasRange: true, IntLo: 0, IntHi: 99}, 100},
	} {
		c.spec.Unique = true
		if got := len(distinct(textsOf(newGenerator(t, c.spec, c.rows), c.rows))); uint64(got) != c.rows {
			t.Errorf("%+v: %d different values in %d rows", c.spec, got, c.rows)
		}
	}
}

// The number of steps at the limit of a range of doubles must not suffer from rounding.
func TestUniqueDoublesAtTheLimit(t *testing.T) {
	for _, lo := range []float64{0, 1, -1e9, 1e15, -3} {
		spec := Spec{Type: TypeDouble, Unique: true, HasRange: true, FloatLo: lo, FloatHi: lo + math.Abs(lo)*1e-12 + 4}
		rows := spec.doubleSpace()
		g := &uniqueDoubles{order: NewPermutation(NewStream(1), rows), steps: rows, lo: spec.FloatLo, hi: spec.FloatHi}
		for i := uint64(0); i < 5000; i++ {
			k := i * (rows / 5001)
			var v, w Value
			g.Value(&v, g.order.Index(k))
			g.Value(&w, g.order.Index(k+1))
			if rows > k+1 && !(v.F < w.F) {
				t.Fatalf("from %v, %d steps: step %d is %v, the next %v", lo, rows, k, v.F, w.F)
			}
		}
	}
}

func TestUniqueIntegersOfATableAreInOrder(t *testing.T) {
	for _, d := range []Distribution{Normal, Uniform, Sequential} {
		g := newGenerator(t, Spec{Type: TypeInteger, Unique: true, Distribution: d, HasRange: true, IntLo: 10, IntHi: 200},
			100)
		for i, s := range textsOf(g, 100) {
			if s != strconv.Itoa(10+i) {
				t.Fatalf("%s: row %d is %s, want %d", d, i, s, 10+i)
			}
		}
	}
}

func TestUniqueParametersGoThroughTheRange(t *testing.T) {
	got := textsOf(newGenerator(t, Spec{Type: TypeInteger, Unique: true, HasRange: true, IntLo: 1, IntHi: 50}, 0), 100)
	if len(distinct(got[:50])) != 50 || got[0] != got[50] || got[49] != got[99] {
		t.Errorf("not a repeated permutation: %v", got)
	}
	if got[0] == "1" && got[1] == "2" && got[2] == "3" {
		t.Error("a unique parameter counts instead of permuting")
	}
	short := Spec{Type: TypeString, Unique: true, Alphabet: []string{"digits"}, HasRange: true, IntLo: 1, IntHi: 2}
	if n := len(distinct(textsOf(newGenerator(t, short, 0), 110))); n != 110 {
		t.Errorf("a unique text parameter takes %d of 110 values", n)
	}
}

// The lengths of unique strings follow the distribution if the range allows it.
func TestUniqueStringsKeepTheirLengths(t *testing.T) {
	g := newGenerator(t, Spec{Type: TypeString, Unique: true, HasRange: true, IntLo: 6, IntHi: 15}, 1_000_000)
	const draws = 20000
	counts, flat := make([]float64, 10), make([]float64, 10)
	for _, s := range textsOf(g, draws) {
		counts[len(s)-6]++
	}
	for i := range flat {
		flat[i] = 0.1
	}
	fit(t, "lengths", counts, flat, draws)
}

func TestUniqueDatetimesSpreadOverTheRange(t *testing.T) {
	g := newGenerator(t, Spec{Type: TypeDatetime, Unique: true, HasRange: true, IntLo: 0, IntHi: 1_000_000}, 100)
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for i := uint64(0); i < 100; i++ {
		var v Value
		g.Value(&v, i)
		lo, hi = min(lo, v.I), max(hi, v.I)
	}
	if lo != 0 || hi != 990_000 {
		t.Errorf("100 rows lie between %d and %d, want 0 and 990000", lo, hi)
	}
}
