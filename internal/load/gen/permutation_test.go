package gen

import (
	"maps"
	"math"
	"slices"
	"testing"
)

func TestPermutationIsBijective(t *testing.T) {
	sizes := []uint64{1, 2, 3, 5, 6, 7, 100, 1000, 65521}
	for w := 2; w <= 14; w++ {
		sizes = append(sizes, 1<<w-1, 1<<w, 1<<w+1)
	}
	for _, n := range sizes {
		for seed := uint64(0); seed < 3; seed++ {
			p := NewPermutation(NewStream(seed), n)
			seen := make([]bool, n)
			for i := uint64(0); i < n; i++ {
				x := p.At(i)
				if x >= n || seen[x] {
					t.Fatalf("n=%d seed=%d: At(%d) = %d repeats or leaves the range", n, seed, i, x)
				}
				seen[x] = true
				if back := p.Index(x); back != i {
					t.Fatalf("n=%d seed=%d: Index(At(%d)) = %d", n, seed, i, back)
				}
			}
		}
	}
}

func TestPermutationTakesIndexModuloN(t *testing.T) {
	p := NewPermutation(NewStream(1), 10)
	if p.At(13) != p.At(3) || p.Index(13) != p.Index(3) {
		t.Error("numbers beyond n aren't taken modulo n")
	}
}

// Over many seeds, the first element must land on every position equally often. In large permutations the same holds
// for the difference of two neighbours. Both are counted in 20 cells.
func TestPermutationShuffles(t *testing.T) {
	for _, n := range []uint64{2, 3, 5, 8, 10, 20, 4100, 5000, 8180, 1_000_000, math.MaxUint64 - 15} {
		const seeds = 20000
		parts := min(n, 20)
		first, pairs := make([]float64, parts), make([]float64, parts)
		for seed := uint64(0); seed < seeds; seed++ {
			p := NewPermutation(NewStream(seed), n)
			a, b := p.At(0), p.At(1)
			first[a/(n/parts)%parts]++
			pairs[(a^b)%parts]++
		}
		flat := make([]float64, parts)
		for i := range flat {
			flat[i] = 1 / float64(parts)
		}
		fit(t, "first", first, flat, seeds)
		if n > 20 {
			fit(t, "pairs", pairs, flat, seeds)
		}
	}
}

// Each order of four numbers must occur equally often.
func TestPermutationReachesAllOrders(t *testing.T) {
	const seeds = 24000
	counts := map[[4]uint64]float64{}
	for seed := uint64(0); seed < seeds; seed++ {
		p := NewPermutation(NewStream(seed), 4)
		counts[[4]uint64{p.At(0), p.At(1), p.At(2), p.At(3)}]++
	}
	var flat [24]float64
	for i := range flat {
		flat[i] = 1. / 24
	}
	fit(t, "orders", slices.Collect(maps.Values(counts)), flat[:], seeds)
}

func TestPermutationGolden(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		want [5]uint64
	}{
		{10, [5]uint64{2, 5, 7, 0, 4}},
		{1_000_000, [5]uint64{0x811fe, 0xda2d6, 0x8d009, 0x11616, 0x532cf}},
		{0, [5]uint64{0x1e53e6dfe32db07, 0xdb731adc5dd7d513, 0x571abc66173bf25c, 0xa12e172e7b8bdf47, 0x4c506f56f072ba92}},
	} {
		p := NewPermutation(NewStream(42), c.n)
		var got [5]uint64
		for i := range got {
			got[i] = p.At(uint64(i))
		}
		if got != c.want {
			t.Errorf("n=%d: %#v, want %v", c.n, got, c.want)
		}
	}
}

func FuzzPermutation(f *testing.F) {
	for _, n := range []uint64{0, 1, 2, 3, 1 << 32, 1<<63 + 1, math.MaxUint64} {
		f.Add(uint64(1), n, uint64(0), n-1)
	}
	f.Fuzz(func(t *testing.T, seed, n, i, j uint64) {
		p := NewPermutation(NewStream(seed), n)
		if n > 0 {
			i, j = i%n, j%n
		}
		x, y := p.At(i), p.At(j)
		if x > n-1 || y > n-1 {
			t.Fatalf("n=%d: %d or %d leaves the range", n, x, y)
		}
		if p.Index(x) != i || p.Index(y) != j || (x == y) != (i == j) {
			t.Fatalf("n=%d: %d→%d, %d→%d isn't bijective", n, i, x, j, y)
		}
	})
}

// Index is the inverse of At: it returns the i in [0, n) with At(i) = x. x is taken modulo n.
func (p *Permutation) Index(x uint64) uint64 {
	if p.n == 0 {
		return p.back(x)
	}
	if x >= p.n {
		x %= p.n
	}
	if p.table != nil {
		return uint64(slices.Index(p.table, uint16(x)))
	}
	for x = p.back(x); x >= p.n; {
		x = p.back(x)
	}
	return x
}

func (p *Permutation) back(x uint64) uint64 {
	low, high := x&p.lowMask, x>>p.lowBits
	for i := feistelRounds - 2; i >= 0; i -= 2 {
		high ^= mix(low^p.keys[i+1]) & p.highMask
		low ^= mix(high^p.keys[i]) & p.lowMask
	}
	return high<<p.lowBits | low
}
