package iproto

import (
	"encoding/hex"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/protocoltest"
)

func valueSamples() []gen.Value {
	list := []gen.Value{
		{}, {Kind: gen.Bool}, {Kind: gen.Bool, I: 1}, {Kind: gen.Uint, I: -1}, {Kind: gen.Float, F: 1.5},
		{Kind: gen.Float, F: -0.1},
		{Kind: gen.Decimal, I: 0}, {Kind: gen.Decimal, I: -5, Scale: 2}, {Kind: gen.Decimal, I: 1234567, Scale: 3},
		{Kind: gen.Decimal, I: 123456789012345678, Scale: 18},
		{Kind: gen.Datetime, I: 940928400000000}, {Kind: gen.Datetime, I: -1}, {Kind: gen.Datetime, I: 1},
		{Kind: gen.UUID, B: []byte("0123456789abcdef")}, {Kind: gen.Bytes, B: make([]byte, 300)},
	}
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		list = append(list, gen.Value{Kind: gen.String, B: make([]byte, n)})
	}
	for shift := range 64 {
		list = append(list, num(1<<shift-1), num(-1<<shift), num(-1<<shift-1))
	}
	return list
}

func TestValuesComeBack(t *testing.T) {
	for _, v := range valueSamples() {
		b, err := msgpack.AppendValue([]byte{0xc0}, &v)
		if err != nil {
			t.Fatal(err)
		}
		r := reader{msgpack.Reader{B: b, At: 1}}
		var w gen.Value
		r.Value(&w)
		if r.Err != msgpack.Fine || r.At != len(b) || protocoltest.Text(&w) != protocoltest.Text(&v) || w.Scale != v.Scale {
			t.Errorf("%s came back as %s (%x)", protocoltest.Text(&v), protocoltest.Text(&w), b)
		}
		for i := 1; i < len(b); i++ {
			r := reader{msgpack.Reader{B: b[:i], At: 1}}
			if r.Value(&w); r.Err != msgpack.Short {
				t.Errorf("%s cut at %d: trouble %d", protocoltest.Text(&v), i, r.Err)
			}
		}
	}
}

// The bytes were produced by msgpack.encode of Tarantool 2.6.0 for the same values. The datetime, which 2.6 doesn't
// have, is an exception: it is the number of seconds since the epoch as a little-endian 64-bit number with the type 4
// (Tarantool's manual, "The DATETIME type").
func TestGoldenBytes(t *testing.T) {
	for want, v := range map[string]gen.Value{
		"7f":                   num(127),
		"ccff":                 num(255),
		"cdffff":               num(65535),
		"ceffffffff":           num(1<<32 - 1),
		"cf7fffffffffffffff":   num(1<<63 - 1),
		"e0":                   num(-32),
		"d0df":                 num(-33),
		"d1ff7f":               num(-129),
		"d2ffff7fff":           num(-32769),
		"d3ffffffff7fffffff":   num(-1<<31 - 1),
		"cb3ff8000000000000":   {Kind: gen.Float, F: 1.5},
		"a3616263":             txt("abc"),
		"d6010201234d":         {Kind: gen.Decimal, I: -1234, Scale: 2},
		"d70480f9153800000000": {Kind: gen.Datetime, I: 0x3815f980 * 1e6},
	} {
		b, err := msgpack.AppendValue(nil, &v)
		if err != nil || hex.EncodeToString(b) != want {
			t.Errorf("%s: got %x, want %s", protocoltest.Text(&v), b, want)
		}
	}
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		from gen.Value
		to   gen.Kind
		want string // "" for none
	}{
		{num(5), gen.Uint, "3:5"}, {num(-5), gen.Uint, ""}, {num(5), gen.Float, "4:5"}, {num(5), gen.Decimal, "5:5"},
		{num(5), gen.Datetime, "8:5"},
		{gen.Value{Kind: gen.Float, F: 3}, gen.Int, "2:3"}, {gen.Value{Kind: gen.Float, F: 3.5}, gen.Int, ""},
		{gen.Value{Kind: gen.Decimal, I: 35, Scale: 1}, gen.Float, "4:3.5"}, {txt("a"), gen.JSON, `10:"a"`},
		{txt("a"), gen.Int, ""}, {gen.Value{}, gen.Int, "null"},
	} {
		v := c.from
		if ok := convert(&v, c.to); ok != (c.want != "") || ok && protocoltest.Text(&v) != c.want {
			t.Errorf("%s to %d: %v, %s", protocoltest.Text(&c.from), c.to, ok, protocoltest.Text(&v))
		}
	}
}
