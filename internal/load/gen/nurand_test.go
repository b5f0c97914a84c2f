package gen

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// nurandLaw returns the exact probabilities of NURand(a, lo, hi, c), by going through all pairs of its two numbers.
func nurandLaw(a, lo, hi, c int64) []float64 {
	n := hi - lo + 1
	p := make([]float64, n)
	for x := range a + 1 {
		for y := lo; y <= hi; y++ {
			p[((x|y)+c)%n] += 1 / float64((a+1)*n)
		}
	}
	return p
}

// distance is Pearson's chi-square divided by its degrees of freedom. Values that are rarer than five expected
// draws are counted together.
func distance(draws []int64, law []float64) (chi2PerDegree float64, degrees int) {
	total := int64(0)
	for _, n := range draws {
		total += n
	}
	chi2, restSeen, restWanted := 0.0, 0.0, 0.0
	for i, p := range law {
		wanted := p * float64(total)
		if wanted < 5 {
			restSeen, restWanted = restSeen+float64(draws[i]), restWanted+wanted
			continue
		}
		chi2 += math.Pow(float64(draws[i])-wanted, 2) / wanted
		degrees++
	}
	if restWanted > 0 {
		chi2 += math.Pow(restSeen-restWanted, 2) / max(restWanted, 1)
		degrees++
	}
	return chi2 / float64(degrees-1), degrees - 1
}

// Chi-square of n degrees has mean n and variance 2n, so the quotient is within five deviations of 1 for the right law,
// and far outside for laws that are mistaken for it: the uniform one, and one whose first number has half the range.
func TestNURandFollowsItsLaw(t *testing.T) {
	for _, c := range []struct {
		name         string
		a, lo, hi, c int64
	}{
		{"last names", 255, 0, 999, 123}, {"customers", 1023, 1, 3000, 259}, {"items, as few", 8191, 1, 4000, 7911},
	} {
		t.Run(c.name, func(t *testing.T) {
			const draws = 2_000_000
			s := NewStream(42, "nurand", c.name)
			seen := make([]int64, c.hi-c.lo+1)
			flat := make([]int64, len(seen))
			short := make([]int64, len(seen))
			for i := range uint64(draws) {
				r := s.At(i)
				seen[r.NURand(c.a, c.lo, c.hi, c.c)-c.lo]++
				flat[r.Between(c.lo, c.hi)-c.lo]++
				short[((r.Between(0, c.a/2)|r.Between(c.lo, c.hi))+c.c)%int64(len(seen))]++
			}
			law := nurandLaw(c.a, c.lo, c.hi, c.c)
			far := func(n int) float64 { return 5 * math.Sqrt(2/float64(n)) }
			if q, n := distance(seen, law); math.Abs(q-1) > far(n) {
				t.Errorf("chi-square is %.3f a degree of %d, want 1 ± %.3f", q, n, far(n))
			}
			for name, wrong := range map[string][]int64{"uniform numbers": flat, "half of a": short} {
				if q, n := distance(wrong, law); math.Abs(q-1) < far(n) {
					t.Errorf("%s pass for the law: chi-square is %.3f a degree", name, q)
				}
			}
		})
	}
}

// random(0, A) includes A. Without it the greatest customer numbers are rarer: with c = 0, the number 1023 arises from
// 1023|y for each y up to 1023.
func TestNURandIncludesA(t *testing.T) {
	law := nurandLaw(1023, 1, 3000, 0)
	s, n := NewStream(7, "a"), 0
	const draws = 400_000
	for i := range uint64(draws) {
		r := s.At(i)
		if r.NURand(1023, 1, 3000, 0) == 1023+1 {
			n++
		}
	}
	p := law[1023]
	if d := math.Abs(float64(n) - draws*p); d > 5*math.Sqrt(draws*p) {
		t.Errorf("1024 was drawn %d times, want %.0f", n, draws*p)
	}
}

func TestAppendFromIsUniform(t *testing.T) {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	s := NewStream(3, "letters")
	seen := make([]int64, len(letters))
	law := slices.Repeat([]float64{1 / float64(len(letters))}, len(letters))
	var b []byte
	for i := range uint64(20_000) {
		r := s.At(i)
		b = r.AppendFrom(b[:0], letters, 25)
		if len(b) != 25 {
			t.Fatalf("%d characters, want 25", len(b))
		}
		for _, c := range b {
			seen[strings.IndexByte(letters, c)]++
		}
	}
	if q, n := distance(seen, law); math.Abs(q-1) > 5*math.Sqrt(2/float64(n)) {
		t.Errorf("chi-square is %.3f a degree of %d", q, n)
	}
}
