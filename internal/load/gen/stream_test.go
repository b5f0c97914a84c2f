package gen

import (
	"math"
	"testing"
)

// The expected values of Philox4x64-10 are in Random123's kat_vectors. numpy.random.Philox of NumPy 2.4.6 gives the
// same.
func TestPhiloxKnownAnswers(t *testing.T) {
	const all = math.MaxUint64
	for _, c := range []struct{ in, want [6]uint64 }{
		{want: [6]uint64{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}},
		{in: [6]uint64{all, all, all, all, all, all},
			want: [6]uint64{0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}},
		{in: [6]uint64{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89, 0x452821e638d01377,
			0xbe5466cf34e90c6c},
			want: [6]uint64{0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}},
	} {
		var got [6]uint64
		got[0], got[1], got[2], got[3] = philox(c.in[0], c.in[1], c.in[2], c.in[3], c.in[4], c.in[5])
		if got != c.want {
			t.Errorf("philox(%x) = %x, want %x", c.in, got, c.want)
		}
	}
}

// Keys from Python's hashlib.sha256; numbers from NumPy 2.4.6:
// numpy.random.Philox(key=key, counter=[0, index, 0, 0]).random_raw(6).
func TestStreamGolden(t *testing.T) {
	for _, c := range []struct {
		seed  uint64
		names []string
		index uint64
		key   [2]uint64
		want  [6]uint64
	}{
		{42, nil, 0, [2]uint64{0xc6f218bc089104ed, 0xb8542ead0e86943},
			[6]uint64{0x3cffb32ef92ea4d, 0x82cbfdbe3669c8dd, 0x5503fa225f491ef9, 0x8b45d4cc4bd93eeb, 0xf3d8d7f98789db68,
				0x506021edc76e8ceb}},
		{42, []string{"cars", "id"}, 0, [2]uint64{0x15cc47a1be4f184c, 0x87ba3a091ba0e31},
			[6]uint64{0xbb21a74a3de0a08d, 0x70b3df3040fc55bf, 0xccd25283085f6fa6, 0xe57f2586b65e3769, 0xec4bdbf1bbd4f015,
				0x2811c4efccc4b6a}},
		{42, []string{"cars", "id"}, 7, [2]uint64{0x15cc47a1be4f184c, 0x87ba3a091ba0e31},
			[6]uint64{0xc8c7f9c4ce984748, 0x35be1d47668ef35d, 0xbe1845fe29f60188, 0x990c60fcc3f09e20, 0x81801c57a8da35cb,
				0x8c2a643a76436ec6}},
		{math.MaxUint64, []string{"таблица"}, math.MaxUint64, [2]uint64{0xa9f69fa2564d3444, 0xed9023ae74be5dc9},
			[6]uint64{0x231daca0f55763c9, 0xc7a412f1b76cea56, 0x2fef00a6f0e2a32a, 0x9313eb9796b6ca39, 0xdf54c34c5983cfb6,
				0xadf1d481cbcdb54d}},
	} {
		s := NewStream(c.seed, c.names...)
		if s.k0 != c.key[0] || s.k1 != c.key[1] {
			t.Errorf("key of (%d, %q) = %x %x, want %x", c.seed, c.names, s.k0, s.k1, c.key)
		}
		if got := s.Uint64(c.index); got != c.want[0] {
			t.Errorf("(%d, %q).Uint64(%d) = %x, want %x", c.seed, c.names, c.index, got, c.want[0])
		}
		r := s.At(c.index)
		for i, want := range c.want {
			if got := r.Uint64(); got != want {
				t.Errorf("(%d, %q) at %d, number %d = %x, want %x", c.seed, c.names, c.index, i, got, want)
			}
		}
	}
}

func TestStreamPaths(t *testing.T) {
	if NewStream(1, "a").Sub("b") != NewStream(1, "a", "b") {
		t.Error("Sub leads elsewhere than a longer path")
	}
	seen := map[Stream]string{}
	for _, names := range [][]string{nil, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a"}, {"b"}} {
		for seed := uint64(0); seed < 3; seed++ {
			s := NewStream(seed, names...)
			if was, ok := seen[s]; ok {
				t.Errorf("%q and %q share a stream", names, was)
			}
			seen[s] = "taken"
		}
	}
}

func TestUint64n(t *testing.T) {
	s := NewStream(7)
	for _, n := range []uint64{1, 2, 3, 10, 1 << 32, 1<<63 + 1, math.MaxUint64, 0} {
		for i := uint64(0); i < 2000; i++ {
			r := s.At(i)
			x := r.Uint64n(n)
			if n != 0 && x >= n {
				t.Fatalf("Uint64n(%d) = %d", n, x)
			}
			if y := s.Uint64n(i, n); y != x {
				t.Fatalf("Stream.Uint64n(%d, %d) = %d, At gives %d", i, n, y, x)
			}
		}
	}
}

// With n = 3·2^62, a quarter of all words is rejected. If words were taken modulo n without rejection, numbers below
// 2^62 would occur twice as often.
func TestUint64nRejects(t *testing.T) {
	const n, draws = uint64(3 << 62), 30000
	s, counts := NewStream(8), make([]float64, 3)
	for i := uint64(0); i < draws; i++ {
		counts[s.Uint64n(i, n)>>62]++
	}
	fit(t, "thirds", counts, []float64{1. / 3, 1. / 3, 1. / 3}, draws)
}

func TestMoments(t *testing.T) {
	const n = 200000
	s := NewStream(9)
	var norm, norm2, exp, uni float64
	for i := uint64(0); i < n; i++ {
		r := s.At(i)
		x := r.NormFloat64()
		norm, norm2, exp, uni = norm+x/n, norm2+x*x/n, exp+r.ExpFloat64()/n, uni+r.Float64()/n
	}
	for _, c := range []struct {
		name            string
		got, want, band float64 // five standard errors
	}{
		{"normal mean", norm, 0, 5 / math.Sqrt(n)},
		{"normal variance", norm2, 1, 5 * math.Sqrt2 / math.Sqrt(n)},
		{"exponential mean", exp, 1, 5 / math.Sqrt(n)},
		{"uniform mean", uni, 0.5, 5 / math.Sqrt(12*n)},
	} {
		if math.Abs(c.got-c.want) > c.band {
			t.Errorf("%s = %v, want %v ± %v", c.name, c.got, c.want, c.band)
		}
	}
}
