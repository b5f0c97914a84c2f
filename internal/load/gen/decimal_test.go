package gen

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestIntegersAreWrittenAsStrconvDoes(t *testing.T) {
	values := []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 63}
	for p := uint64(1); p < 1e19; p *= 10 {
		values = append(values, p-1, p, p+1)
	}
	values = append(values, 1e19-1, 1e19, 1e19+1)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		values = append(values, rnd.Uint64()>>rnd.IntN(64))
	}
	for _, u := range values {
		for _, v := range []Value{{Kind: Uint, I: int64(u)}, {Kind: Int, I: int64(u)}} {
			want := strconv.FormatUint(u, 10)
			if v.Kind == Int {
				want = strconv.FormatInt(int64(u), 10)
			}
			if got := string(v.AppendText([]byte("x"))); got != "x"+want {
				t.Fatalf("%d is written as %q, want %q", u, got, "x"+want)
			}
			if n, ok := v.TextLength(); !ok || n != len(want) {
				t.Fatalf("the length of %s is told as %d, %v", want, n, ok)
			}
		}
	}
}

func TestTextLength(t *testing.T) {
	for _, v := range []Value{{Kind: String, B: []byte("abc")}, {Kind: JSON, B: []byte("{}")}, {Kind: String}} {
		if n, ok := v.TextLength(); !ok || n != len(v.AppendText(nil)) {
			t.Errorf("kind %d: length %d, %v; the text is %q", v.Kind, n, ok, v.AppendText(nil))
		}
	}
	for _, kind := range []Kind{Null, Bool, Float, Decimal, Bytes, Datetime, UUID} {
		v := Value{Kind: kind}
		if _, ok := v.TextLength(); ok {
			t.Errorf("kind %d: a length is told", kind)
		}
	}
}

func TestPhiloxFirstIsPhilox(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		c1, k0, k1 := rnd.Uint64(), rnd.Uint64(), rnd.Uint64()
		want, _, _, _ := philox(1, c1, 0, 0, k0, k1)
		if got := philoxFirst(c1, k0, k1); got != want {
			t.Fatalf("philoxFirst(%x, %x, %x) = %x, want %x", c1, k0, k1, got, want)
		}
	}
}
