package gen

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"
)

func TestTextAndAny(t *testing.T) {
	uuid := [16]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef, 0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	for _, c := range []struct {
		v    Value
		text string
		any  any
	}{
		{Value{}, "NULL", nil},
		{Value{Kind: Bool, I: 1}, "true", true},
		{Value{Kind: Bool}, "false", false},
		{Value{Kind: Int, I: math.MinInt64}, "-9223372036854775808", int64(math.MinInt64)},
		{Value{Kind: Uint, I: -1}, "18446744073709551615", uint64(math.MaxUint64)},
		{Value{Kind: Float, F: 0.1}, "0.1", 0.1},
		{Value{Kind: Float, F: 1e21}, "1e+21", 1e21},
		{Value{Kind: Float, F: math.Inf(-1)}, "-Infinity", math.Inf(-1)},
		{Value{Kind: Decimal, I: 12345, Scale: 2}, "123.45", "123.45"},
		{Value{Kind: Decimal, I: -5, Scale: 3}, "-0.005", "-0.005"},
		{Value{Kind: Decimal, I: 7}, "7", "7"},
		{Value{Kind: Decimal, I: 0, Scale: 2}, "0.00", "0.00"},
		{Value{Kind: Decimal, I: 123, Scale: 3}, "0.123", "0.123"},
		{Value{Kind: Decimal, I: math.MinInt64, Scale: 18}, "-9.223372036854775808", "-9.223372036854775808"},
		{Value{Kind: String, B: []byte("Лада")}, "Лада", "Лада"},
		{Value{Kind: Bytes, B: []byte{0, 0xFF}}, "00ff", []byte{0, 0xFF}},
		{Value{Kind: Datetime, I: -1}, "1969-12-31T23:59:59.999999Z",
			time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)},
		{Value{Kind: UUID, B: uuid[:]}, "01234567-89ab-4def-8123-456789abcdef", uuid},
		{Value{Kind: JSON, B: []byte(`{"a":1}`)}, `{"a":1}`, `{"a":1}`},
	} {
		if got := string(c.v.AppendText([]byte(">"))); got != ">"+c.text {
			t.Errorf("text of %+v = %q, want %q", c.v, got, ">"+c.text)
		}
		got := c.v.Any()
		if !reflect.DeepEqual(got, c.any) {
			t.Errorf("%+v.Any() = %#v, want %#v", c.v, got, c.any)
		}
		var back Value
		if !back.SetAny(got) {
			t.Errorf("SetAny refuses %#v", got)
		}
		if c.v.Kind != Decimal && c.v.Kind != JSON && !back.Equal(&c.v) {
			t.Errorf("SetAny(%#v) = %+v, want %+v", got, back, c.v)
		}
	}
}

func TestSetAnyRefuses(t *testing.T) {
	v := Value{Kind: Int, I: 5}
	if v.SetAny(struct{}{}) || v.Kind != Null {
		t.Errorf("an unknown type gives %+v", v)
	}
}

func TestCloneAndSetShareNothing(t *testing.T) {
	v := Value{Kind: String, B: []byte("abc")}
	c := v.Clone()
	var w Value
	w.Set(&v)
	v.B[0] = 'X'
	if !bytes.Equal(c.B, []byte("abc")) || !bytes.Equal(w.B, []byte("abc")) {
		t.Errorf("Clone %q or Set %q changed with their source", c.B, w.B)
	}
}

func TestEqual(t *testing.T) {
	nan, nan2 := math.NaN(), math.Float64frombits(math.Float64bits(math.NaN())^1<<63)
	for _, c := range []struct {
		name string
		a, b Value
		want bool
	}{
		{"nulls whatever they held", Value{I: 1}, Value{I: 2}, true},
		{"null and 0", Value{}, Value{Kind: Int}, false},
		{"integers of two kinds", Value{Kind: Int, I: 1}, Value{Kind: Uint, I: 1}, false},
		{"decimals of two scales", Value{Kind: Decimal, I: 150, Scale: 2}, Value{Kind: Decimal, I: 15, Scale: 1}, true},
		{"decimals 10 and 1", Value{Kind: Decimal, I: 10}, Value{Kind: Decimal, I: 1}, false},
		{"zeros", Value{Kind: Float}, Value{Kind: Float, F: math.Copysign(0, -1)}, true},
		{"NaNs", Value{Kind: Float, F: nan}, Value{Kind: Float, F: nan2}, true},
		{"floats", Value{Kind: Float, F: 1}, Value{Kind: Float, F: 2}, false},
		{"texts", Value{Kind: String, B: []byte("a")}, Value{Kind: String, B: []byte("b")}, false},
		{"text and bytes", Value{Kind: String, B: []byte("a")}, Value{Kind: Bytes, B: []byte("a")}, false},
		{"stale buffer", Value{Kind: Int, I: 1, B: []byte("a")}, Value{Kind: Int, I: 1}, true},
	} {
		if got := c.a.Equal(&c.b); got != c.want {
			t.Errorf("%s: Equal = %v, want %v", c.name, got, c.want)
		}
		same := ChecksumRow([]Value{c.a}) == ChecksumRow([]Value{c.b})
		if same != c.want {
			t.Errorf("%s: checksums agree = %v, want %v", c.name, same, c.want)
		}
	}
}

// XXH64 of the documented bytes, computed by the Python package xxhash 4.1.0: xxhash.xxh64_intdigest(bytes).
func TestChecksumRowGolden(t *testing.T) {
	row := []Value{
		{Kind: Int, I: -2}, {Kind: String, B: []byte("Лада")}, {}, {Kind: Decimal, I: 1500, Scale: 2},
		{Kind: Float, F: 0.5}, {Kind: Bool, I: 1},
	}
	for _, c := range []struct {
		row  []Value
		want uint64
	}{{nil, 0xef46db3751d8e999}, {row, 0x704d66dcd4effd6d}, {row[:1], 0x7df1140a828da483}} {
		if got := ChecksumRow(c.row); got != c.want {
			t.Errorf("checksum of %v = %#x, want %#x", c.row, got, c.want)
		}
	}
}

func TestChecksumRowTellsRowsApart(t *testing.T) {
	s := func(x ...string) []Value {
		row := make([]Value, len(x))
		for i := range x {
			row[i].SetString(x[i])
		}
		return row
	}
	seen := map[uint64]int{}
	for i, row := range [][]Value{s(), s(""), s("", ""), s("ab"), s("a", "b"), s("b", "a"), s("", "ab"), {{}}, {{}, {}},
		{{Kind: Int}}, {{Kind: Bool}}} {
		sum := ChecksumRow(row)
		if j, ok := seen[sum]; ok {
			t.Errorf("rows %d and %d have one checksum", i, j)
		}
		seen[sum] = i
	}
}

func TestChecksumRowAllocatesNothing(t *testing.T) {
	row := []Value{{Kind: Int, I: 5}, {Kind: String, B: make([]byte, 100)}}
	if n := testing.AllocsPerRun(100, func() { ChecksumRow(row) }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

// Equal reports whether two values have the same kind and content. Decimals are compared as numbers, ignoring their
// scale. Floats are compared by their bits, except that 0 equals -0 and all NaNs are equal.
func (v *Value) Equal(w *Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	switch v.Kind {
	case Null:
		return true
	case Float:
		return floatBits(v.F) == floatBits(w.F)
	case Decimal:
		i, s := lowestTerms(v.I, v.Scale)
		j, t := lowestTerms(w.I, w.Scale)
		return i == j && s == t
	case String, Bytes, UUID, JSON:
		return bytes.Equal(v.B, w.B)
	}
	return v.I == w.I
}
