package schedule

import (
	"math"
	"slices"
	"testing"
)

// The values were computed with NumPy 2's Philox (key from SHA-256 as described at gen.NewStream, counter {0, i, 0,
// 0}), −log1p(−u) of the upper 53 bits of its first number, and SciPy's brentq as the inverse of the integrated rate.
func TestPoissonGolden(t *testing.T) {
	shape := mustShape(t, 0, Segment{2 * nsPerS, 0, 8}, Segment{nsPerS, 0, 0}, Segment{2 * nsPerS, 10, 10})
	want := []int64{
		436511361, 483458729, 1151292277, 1154313172, 1278174448, 1316284295, 1402524749, 1665254164,
		1755081252, 1866985426, 3003447887, 3047632252, 3054471964, 3164583935, 3186057749, 3317213301,
		3405887584, 3471382870, 3535364999, 3693868318, 3760272220, 3928629602, 3983321129, 4017333639,
		4106482099, 4229113367, 4249740916, 4292868228, 4302216316, 4399751250, 4411159397, 4422552620,
		4422645408, 4447731671, 4594821705, 4713748891, 4786742771, 4833613316, 4996011275,
	}
	if got := collect(shape.Arrivals(Poisson, 7)); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestPoissonIsPoisson tests whether gaps are exponential, and the mean and dispersion of counts per slice, at the
// level 10⁻⁴ (critical values from SciPy's chi2.ppf).
func TestPoissonIsPoisson(t *testing.T) {
	const n, rate = 200_000, 1000.0
	shape := mustShape(t, n, Segment{1000 * nsPerS, rate, rate})
	starts := collect(shape.Arrivals(Poisson, 42))
	if len(starts) != n {
		t.Fatalf("%d arrivals, want %d", len(starts), n)
	}
	const bins = 20
	var gaps [bins]int
	last := int64(0)
	for _, at := range starts {
		u := 1 - math.Exp(-float64(at-last)*rate/nsPerS)
		gaps[min(int(u*bins), bins-1)]++
		last = at
	}
	chi := 0.0
	for _, k := range gaps {
		d := float64(k) - n/bins
		chi += d * d / (n / bins)
	}
	if chi > 50.80 {
		t.Errorf("gaps aren't exponential: χ²(19) = %.1f, %v", chi, gaps)
	}
	slices := make([]int, 190) // of 1 s
	for _, at := range starts {
		if i := at / nsPerS; i < int64(len(slices)) {
			slices[i]++
		}
	}
	dispersion, total := 0.0, 0
	for _, k := range slices {
		dispersion += (float64(k) - rate) * (float64(k) - rate) / rate
		total += k
	}
	if dispersion < 125 || dispersion > 268 {
		t.Errorf("counts a second aren't Poisson's: χ²(190) = %.1f", dispersion)
	}
	if d := math.Abs(float64(total) - 190*rate); d > 3.9*math.Sqrt(190*rate) {
		t.Errorf("%d arrivals in 190 s, %g expected", total, 190*rate)
	}
}

func TestPoissonFollowsTheShape(t *testing.T) {
	// A rising and a falling slope: arrivals mapped through the expected count are uniform.
	shape := mustShape(t, 0, Segment{10 * nsPerS, 0, 10_000}, Segment{5 * nsPerS, 0, 0}, Segment{10 * nsPerS, 10_000, 0})
	var bins [10]int
	starts := collect(shape.Arrivals(Poisson, 3))
	for _, at := range starts {
		if at >= 10*nsPerS && at < 15*nsPerS {
			t.Fatalf("an arrival at %d ns, where the rate is 0", at)
		}
		bins[min(int(shape.Expected(at)/100_000*10), 9)]++
	}
	chi := 0.0
	for _, k := range bins {
		chi += (float64(k) - 10_000) * (float64(k) - 10_000) / 10_000
	}
	if chi > 35.56 { // 10 degrees of freedom: the total is free
		t.Errorf("χ²(10) = %.1f, %v", chi, bins)
	}
}

func TestIteratorsAgree(t *testing.T) {
	shape := mustShape(t, 0, Segment{nsPerS, 100, 900}, Segment{nsPerS, 0, 0}, Segment{nsPerS, 700, 0})
	for _, p := range []Process{Uniform, Poisson} {
		all := collect(shape.Arrivals(p, 5))
		if again := collect(shape.Arrivals(p, 5)); !slices.Equal(all, again) {
			t.Errorf("process %d: two iterators differ", p)
		}
	}
	if slices.Equal(collect(shape.Arrivals(Poisson, 5)), collect(shape.Arrivals(Poisson, 6))) {
		t.Error("two seeds give the same arrivals")
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, p := range []Process{Uniform, Poisson} {
		a := mustShape(t, 0, Segment{1000 * nsPerS, 1000, 2000}).Arrivals(p, 1)
		if n := testing.AllocsPerRun(1000, func() { a.Next() }); n != 0 {
			t.Errorf("process %d: %g allocations an arrival", p, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct {
		name string
		p    Process
		to   float64
	}{{"constant", Uniform, 1e6}, {"ramp", Uniform, 2e6}, {"poisson", Poisson, 1e6}} {
		b.Run(c.name, func(b *testing.B) {
			a := mustShape(b, 0, Segment{3600 * nsPerS, 1e6, c.to}).Arrivals(c.p, 1)
			b.ReportAllocs()
			for b.Loop() {
				a.Next()
			}
		})
	}
}
