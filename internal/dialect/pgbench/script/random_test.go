package script

import (
	"math"
	"slices"
	"testing"
)

// The values are those of pgbench 15 to 18, see the source of each.

func TestClientStreams(t *testing.T) {
	// --random-seed=42, random(1, 1000000)
	base := newPRNG(42)
	var first []int64
	for range 3 {
		p := newPRNG(base.next())
		first = append(first, p.uniform(1, 1000000))
	}
	if want := []int64{668251, 844242, 802035}; !slices.Equal(first, want) {
		t.Errorf("got %v, want %v", first, want)
	}
}

func TestRandomFunctions(t *testing.T) {
	// --random-seed=42, client 0, one after the other.
	base := newPRNG(42)
	p := newPRNG(base.next())
	got := []int64{p.uniform(1, 1000000), p.zipfian(1, 1000, 1.3), p.gaussian(1, 1000, 4)}
	if want := []int64{668251, 1, 459}; !slices.Equal(got, want) {
		t.Errorf("seed 42: got %v, want %v", got, want)
	}
	// PostgreSQL's own test: --random-seed=5432.
	base = newPRNG(5432)
	p = newPRNG(base.next())
	got = []int64{p.uniform(10, 19), p.exponential(100, 199, 10), p.gaussian(1000, 1999, 10), p.zipfian(1, 9, 1.3)}
	if want := []int64{17, 104, 1498, 3}; !slices.Equal(got, want) {
		t.Errorf("seed 5432: got %v, want %v", got, want)
	}
}

func TestDefaultSeed(t *testing.T) {
	// hash(5) with --random-seed=42 and one client.
	seed := defaultSeedOf(Options{RandomSeed: 42, Clients: 1})
	if got, want := hashMurmur2(5, seed), int64(8836847535837303587); got != want {
		t.Errorf("hash(5) is %d, want %d", got, want)
	}
}

func TestHashes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"FNV-1a", hashFNV1a(10, 5432), -7793829335365542153},
		{"Murmur2", hashMurmur2(10, 5432), -5817877081768721676},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %d, want %d", c.got, c.want)
			}
		})
	}
}

func TestPermute(t *testing.T) {
	const size = 9223372036854775807 - 10
	for _, c := range []struct{ v, size, seed, want int64 }{
		{0, 10, 5432, 6}, {1, 10, 5432, 5}, {2, 10, 5432, 3}, {9, 10, 5432, 2},
		{1, 1000000, 1, 270302}, {2, 1000000, 1, 35659}, {3, 1000000, 1, 438212}, {4, 1000000, 1, 98754},
		{5, 1000000, 1, 975112}, {0, 2, 5431, 0}, {1, 2, 5431, 1}, {0, 2, 5433, 1}, {1, 2, 5433, 0},
		{size - 1, size, 5432, 520382784483822430}, {size - 2, size, 5432, 1143715004660802862},
		{size - 3, size, 5432, 447293596416496998}, {size - 4, size, 5432, 916527772266572956},
		{size - 5, size, 5432, 2763809008686028849}, {size - 6, size, 5432, 8648551549198294572},
		{size - 7, size, 5432, 4542876852200565125}, {7, 1000, 42, 440},
	} {
		if got := permute(c.v, c.size, c.seed); got != c.want {
			t.Errorf("permute(%d, %d, %d) is %d, want %d", c.v, c.size, c.seed, got, c.want)
		}
	}
}

// TestQuickFunctionsSuffice compares draws with those that are computed with precise functions only.
func TestQuickFunctionsSuffice(t *testing.T) {
	for _, size := range []int64{1, 7, 1000, 1_000_000, 1_000_000_000_000, 1 << 62} {
		for _, parameter := range []float64{0.01, 1.001, 1.07, 2, 3.5, 20, 700, 1000} {
			p, q := newPRNG(uint64(size)), newPRNG(uint64(size))
			n := float64(size)
			for range 200 {
				u := 1 - q.double()
				if got, want := p.exponential(0, size-1, parameter), int64(n*exact.exponential(u, parameter)); got != want {
					t.Fatalf("exponential(%d, %v) is %d, want %d", size, parameter, got, want)
				}
				if parameter >= leastZipfian && size > 1 {
					want := 0.0
					for accepted := false; !accepted; {
						u, v := q.double(), q.double()
						want = math.Floor(exact.pow(u, -1/(parameter-1)))
						b, s := exact.pow(2, parameter-1), exact.pow(1+1/want, parameter-1)
						accepted = v*want*(s-1)/(b-1) <= s/b && want <= n
					}
					if got := p.zipfian(1, size, parameter); got != int64(want) {
						t.Fatalf("zipfian(%d, %v) is %d, want %v", size, parameter, got, want)
					}
				}
				if parameter < leastGaussian {
					continue
				}
				z := math.Inf(1)
				for z < -parameter || z >= parameter {
					u, v := 1-q.double(), 1-q.double()
					z = exact.normal(u, v)
				}
				want := int64(n * ((z + parameter) / (parameter * 2)))
				if got := p.gaussian(0, size-1, parameter); got != want {
					t.Fatalf("gaussian(%d, %v) is %d, want %d", size, parameter, got, want)
				}
			}
		}
	}
}
