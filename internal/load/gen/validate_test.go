package gen

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestValidateNamesTheField(t *testing.T) {
	ints := func(ty Type, lo, hi int64) Spec { return Spec{Type: ty, HasRange: true, IntLo: lo, IntHi: hi} }
	floats := func(ty Type, lo, hi float64) Spec {
		return Spec{Type: ty, HasRange: true, FloatLo: lo, FloatHi: hi}
	}
	unique := func(s Spec) Spec { s.Unique = true; return s }
	hist := func(s Spec, b ...Bucket) Spec { s.Distribution, s.Buckets = Histogram, b; return s }
	for _, c := range []struct {
		name  string
		spec  Spec
		rows  uint64
		field string // "" if the Spec is valid
	}{
		{"sound", Spec{Type: TypeInteger}, 1 << 31, ""},
		{"no type", Spec{}, 0, "type"},
		{"unknown type", Spec{Type: "Integer"}, 0, "type"},
		{"unknown distribution", Spec{Type: TypeInteger, Distribution: "gauss"}, 0, "distribution"},
		{"negative exponent", Spec{Type: TypeInteger, Distribution: Zipf, Param: -1}, 0, "distribution_param"},
		{"NaN exponent", Spec{Type: TypeInteger, Distribution: Zipf, Param: math.NaN()}, 0, "distribution_param"},
		{"exponent 1", Spec{Type: TypeInteger, Distribution: Zipf, Param: 1}, 0, ""},
		{"hot share above 1", Spec{Type: TypeInteger, Distribution: Hotspot, Param: 1.1}, 0, "distribution_param"},
		{"hot fraction above 1", Spec{Type: TypeInteger, Distribution: Hotspot, HotFraction: 1.1}, 0, "hot_fraction"},
		{"range backwards", ints(TypeInteger, 2, 1), 0, "range"},
		{"full range", unique(ints(TypeInteger, math.MinInt64, math.MaxInt64)), math.MaxUint64, ""},
		{"unsigned range backwards", ints(TypeUnsigned, -1, 1), 0, "range"},
		{"unsigned range over 2^63", ints(TypeUnsigned, 1, -1), 0, ""},
		{"double backwards", floats(TypeDouble, 2, 1), 0, "range"},
		{"double NaN", floats(TypeDouble, math.NaN(), 1), 0, "range"},
		{"double infinite", floats(TypeDouble, 0, math.Inf(1)), 0, "range"},
		{"decimal backwards", floats(TypeDecimal, 2, 1), 0, "range"},
		{"decimal too wide", floats(TypeDecimal, 0, 1e18), 0, "range"},
		{"decimal empty", floats(TypeDecimal, 0.001, 0.002), 0, "range"},
		{"decimal scale", Spec{Type: TypeDecimal, DecimalScale: 19}, 0, "scale"},
		{"negative length", ints(TypeString, -1, 5), 0, "range"},
		{"huge length", ints(TypeString, 1, 1<<40), 0, "range"},
		{"short JSON", ints(TypeJSON, 1, 5), 0, "range"},
		{"date beyond year 9999", ints(TypeDatetime, 0, math.MaxInt64), 0, "range"},
		{"nulls above 100", Spec{Type: TypeInteger, NullPercent: 101}, 0, "null_percentage"},
		{"nulls NaN", Spec{Type: TypeInteger, NullPercent: math.NaN()}, 0, "null_percentage"},
		{"unknown alphabet", Spec{Type: TypeString, Alphabet: []string{"en", "de"}}, 0, "alphabet"},
		{"empty custom alphabet", Spec{Type: TypeString, Alphabet: []string{"custom:"}}, 0, "alphabet"},
		{"broken custom alphabet", Spec{Type: TypeString, Alphabet: []string{"custom:\xff"}}, 0, "alphabet"},
		{"NUL in alphabet", Spec{Type: TypeString, Alphabet: []string{"custom:a\x00"}}, 0, "alphabet"},
		{"no buckets", hist(Spec{Type: TypeInteger}), 0, "histogram"},
		{"weights 0", hist(Spec{Type: TypeInteger}, Bucket{1, 2, 0}), 0, "histogram"},
		{"bucket outside", hist(ints(TypeInteger, 0, 9), Bucket{5, 10, 1}), 0, "histogram"},
		{"bucket below", hist(ints(TypeInteger, 0, 9), Bucket{-1, 5, 1}), 0, "histogram"},
		{"bucket without integers", hist(ints(TypeInteger, 0, 9), Bucket{1.2, 1.8, 1}), 0, "histogram"},
		{"bucket of decimals", hist(floats(TypeDecimal, 0, 9), Bucket{0.1, 0.3, 1}), 0, ""},
		{"double bucket outside", hist(floats(TypeDouble, 0, 9), Bucket{5, 10, 1}), 0, "histogram"},
		{"more buckets than values", hist(ints(TypeInteger, 0, 1), Bucket{Weight: 1}, Bucket{Weight: 1}, Bucket{Weight: 1}),
			0, "histogram"},
		{"unique integers too few", unique(ints(TypeInteger, 1, 99)), 100, "range"},
		{"unique integers suffice", unique(ints(TypeInteger, 0, 99)), 100, ""},
		{"unique parameter", unique(ints(TypeInteger, 1, 2)), 0, ""},
		{"unique strings too few", unique(ints(TypeString, 1, 2)), 52 + 52*52 + 1, "range"},
		{"unique strings suffice", unique(ints(TypeString, 1, 2)), 52 + 52*52, ""},
		{"unique datetimes too few", unique(ints(TypeDatetime, 1, 2)), 3, "range"},
		{"unique doubles too few", unique(floats(TypeDouble, 1, 1)), 2, "range"},
		{"unique JSON too short", unique(ints(TypeJSON, 20, 200)), 2, "range"},
		{"unique booleans", unique(Spec{Type: TypeBoolean}), 3, "unique"},
		{"unique constant", unique(Spec{Type: TypeConstant}), 2, "unique"},
		{"odd constant", Spec{Type: TypeConstant, Constant: struct{}{}}, 0, "value"},
		{"reference without table", Spec{Type: TypeReference, Column: "c"}, 0, "table"},
	} {
		faults := c.spec.Validate(c.rows)
		_, err := New(&c.spec, NewStream(1), c.rows, nil)
		if c.field == "" {
			if len(faults) > 0 || err != nil {
				t.Errorf("%s: unexpected faults %v, New says %v", c.name, faults, err)
			}
			continue
		}
		var ferr *FieldError
		if len(faults) == 0 || faults[0].Field != c.field || !errors.As(err, &ferr) || ferr.Field != c.field {
			t.Errorf("%s: Validate says %v, New says %v, want field %q", c.name, faults, err, c.field)
			continue
		}
		if strings.ContainsAny(ferr.Error(), "\n") {
			t.Errorf("%s: error %q has several lines", c.name, ferr)
		}
	}
}

func TestValidateFindsAllFaults(t *testing.T) {
	s := Spec{Type: TypeString, Distribution: "x", NullPercent: -1, Alphabet: []string{"y"}, HasRange: true, IntLo: 2,
		IntHi: 1}
	if faults := s.Validate(0); len(faults) != 4 {
		t.Errorf("found %v, want faults of null_percentage, distribution, range and alphabet", faults)
	}
}

func FuzzNew(f *testing.F) {
	for i, s := range everySpec() {
		f.Add(string(s.Type), string(s.Distribution), float64(i)/10, 0.2, true, int64(-i), int64(i), -1.5, 1.5, i%5,
			"custom:ab", 5.0, s.Unique, uint64(i))
	}
	f.Fuzz(func(t *testing.T, ty, dist string, param, hot float64, ranged bool, lo, hi int64, flo, fhi float64, scale int,
		alphabet string, nulls float64, unique bool, rows uint64) {
		if len(dist) > 20 || len(alphabet) > 100 || (ty == string(TypeString) || ty == string(TypeJSON)) && hi > 10000 {
			return
		}
		spec := Spec{Type: Type(ty), Distribution: Distribution(dist), Param: param, HotFraction: hot, HasRange: ranged,
			IntLo: lo, IntHi: hi, FloatLo: flo, FloatHi: fhi, DecimalScale: scale, NullPercent: nulls, Unique: unique,
			Table: "cars", Column: "id", Constant: alphabet, Buckets: []Bucket{{flo, fhi, param}, {flo, flo, hot}}}
		if alphabet != "" {
			spec.Alphabet = []string{alphabet}
		}
		g, err := New(&spec, NewStream(rows), rows, testLookup)
		if err != nil {
			return
		}
		var v, w Value
		for _, i := range []uint64{0, 1, rows, math.MaxUint64} {
			g.Value(&v, i)
			g.Value(&w, i)
			if !v.Equal(&w) || v.Kind == Int && ty == string(TypeInteger) && ranged && (v.I < lo || v.I > hi) {
				t.Fatalf("%+v: value %d is %s, then %s", spec, i, v.AppendText(nil), w.AppendText(nil))
			}
		}
	})
}
