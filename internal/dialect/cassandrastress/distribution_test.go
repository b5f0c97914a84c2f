package cassandrastress

import (
	"math"
	"strings"
	"testing"

	"brunt/internal/load/gen"
)

// The shares of draws up to a number are compared with the closed forms of the distribution functions.
func TestLaws(t *testing.T) {
	weibull := func(scale, shape float64) func(float64) float64 {
		return func(x float64) float64 { return 1 - math.Exp(-math.Pow(x/scale, shape)) }
	}
	normal := func(mean, sd float64) func(float64) float64 {
		return func(x float64) float64 { return 0.5 * math.Erfc(-(x-mean)/sd/math.Sqrt2) }
	}
	half := math.Log(999) / 2 // −ln √(1/999)
	for _, c := range []struct {
		text string
		min  int64
		cdf  func(x float64) float64 // of the continuous draw, whose whole part counts
		from float64                 // what the draw is added to
	}{
		{"UNIFORM(1..1000)", 1, func(x float64) float64 { return (x - 1) / 1000 }, 0},
		{"exp(1..1000)", 1, weibull(999/half, 1), 1},
		{"EXTREME(1..1K,2)", 1, weibull(999/math.Pow(half, 0.5), 2), 1},
		{"weibull(1..1000,0.6)", 1, weibull(999/math.Pow(half, 1/0.6), 0.6), 1},
		{"GAUSSIAN(1..1000)", 1, normal(500.5, 999.0/6), 0},
		{"gauss(1..1000,5)", 1, normal(500.5, 999.0/10), 0},
		{"norm(1..1000,300,50)", 1, normal(300, 50), 0},
	} {
		d, err := ParseDistribution(c.text)
		if err != nil {
			t.Fatal(err)
		}
		mirrored, err := ParseDistribution("~" + c.text)
		if err != nil {
			t.Fatal(err)
		}
		const n = 200_000
		counts, inverse := make([]int, 1001), make([]int, 1001)
		stream := gen.NewStream(7, c.text)
		for i := range uint64(n) {
			r := stream.At(i)
			v := d.Draw(&r, i)
			counts[v]++
			r = stream.At(i)
			inverse[1001-mirrored.Draw(&r, i)]++
			if counts[v] != inverse[v] {
				t.Fatalf("%s: ~ isn't the mirror image", c.text)
			}
		}
		sum, worst := 0, 0.0
		for v := int64(1); v < 1000; v++ { // the last number has the rest
			sum += counts[v]
			want := c.cdf(float64(v+1) - c.from)
			if c.from == 0 && c.min == 1 && v == 1000 {
				want = 1
			}
			worst = math.Max(worst, math.Abs(float64(sum)/n-want))
		}
		if limit := 1.95 / math.Sqrt(n); worst > limit { // Kolmogorov–Smirnov, 0.1 %
			t.Errorf("%s: differs by %v from the law, more than %v", c.text, worst, limit)
		}
	}
}

// Each part of QEXTREME has the probability of one part of the Weibull distribution, and is uniform within.
func TestQuantizedLaw(t *testing.T) {
	d, err := ParseDistribution("QEXTREME(1..1M,2,4)")
	if err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	var parts [4]int
	var lower int
	stream := gen.NewStream(1, "q")
	for i := range uint64(n) {
		r := stream.At(i)
		v := d.Draw(&r, i)
		for p := range parts {
			if v >= d.bounds[p] && v < d.bounds[p+1] {
				parts[p]++
				if v < (d.bounds[p]+d.bounds[p+1])/2 {
					lower++
				}
			}
		}
	}
	for p, got := range append(parts[:], lower-n/4) {
		if math.Abs(float64(got)/n-0.25) > 0.008 {
			t.Errorf("part %d has %d of %d", p, got, n)
		}
	}
}

func TestNumbersAndFixed(t *testing.T) {
	for text, want := range map[string][2]int64{"FIXED(5)": {5, 5}, "fixed(2K)": {2000, 2000}, "SEQ(1..3M)": {1, 3e6},
		"UNIFORM(1..100B)": {1, 100e9}, "uniform(4..8)": {4, 8}, "UNIFORM(1...9)": {1, 9}} {
		d, err := ParseDistribution(text)
		if err != nil || d.Min != want[0] || d.Max != want[1] {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
	d, _ := ParseDistribution("SEQ(5..7)")
	for i, want := range []int64{5, 6, 7, 5} {
		if got := d.Draw(nil, uint64(i)); got != want {
			t.Errorf("draw %d is %d, want %d", i, got, want)
		}
	}
	for _, text := range []string{"EXP(3..3)", "GAUSSIAN(3..3)", "EXTREME(3..3,2)", "EXP(3..4)", "EXTREME(1..2,1)"} {
		d, err := ParseDistribution(text)
		if err != nil {
			t.Fatal(err)
		}
		stream := gen.NewStream(1, text)
		for i := range uint64(100) {
			r := stream.At(i)
			if v := d.Draw(&r, i); v < d.Min || v > d.Max {
				t.Errorf("%s: %d", text, v)
			}
		}
	}
	r, err := ParseRatio("FIXED(1)/4")
	if err != nil || r.DrawShare(nil, 0) != 0.25 || r.all() {
		t.Errorf("%+v, %v", r, err)
	}
}

// The share of draws that don't exceed a quantile is that of the quantile.
func TestQuantiles(t *testing.T) {
	for _, text := range []string{"UNIFORM(1..1000)", "GAUSSIAN(1..1000)", "GAUSSIAN(1..1000,300,80)", "EXP(1..1000)",
		"EXTREME(1..1000,2)", "QEXTREME(1..1000,2,4)"} {
		d, err := ParseDistribution(text)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 20_000
		r := gen.NewStream(9, text).At(0)
		below := map[float64]int{}
		for i := range draws {
			x := d.Draw(&r, uint64(i))
			for _, share := range printed {
				if x <= d.Quantile(share) {
					below[share]++
				}
			}
		}
		for _, share := range printed {
			if got := float64(below[share]) / draws; math.Abs(got-share) > 0.015 {
				t.Errorf("%s: %v of all draws are at most %d, want %v", text, got, d.Quantile(share), share)
			}
		}
	}
	for text, want := range map[string]int64{"FIXED(7)": 7, "SEQ(1..101)": 51, "~EXP(1..100)": 71} {
		if d, err := ParseDistribution(text); err != nil || d.Quantile(0.5) != want {
			t.Errorf("%s: %d, %v; want %d", text, d.Quantile(0.5), err, want)
		}
	}
}

func TestBadDistributions(t *testing.T) {
	for text, want := range map[string]string{
		"": "no distribution", "5": "no distribution", "zipf(1..2)": `"zipf" is no distribution; use FIXED`,
		"FIXED(x)": "no whole number", "UNIFORM(5)": "no range", "UNIFORM(5..1)": "above the end", "EXP(1..2,3)": "1 to 1",
		"EXTREME(1..2)": "2 to 2", "EXTREME(1..2,0)": "above 0", "GAUSSIAN(1..9,NaN)": "above 0",
		"FIXED(9999999999B)":   "too large",
		"QEXTREME(1..9,2,0.5)": "number of parts", "UNIFORM(-5..1)": "no whole number",
	} {
		if _, err := ParseDistribution(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	for _, text := range []string{"FIXED(1)", "FIXED(1)/0", "x/1"} {
		if _, err := ParseRatio(text); err == nil {
			t.Errorf("%q is a ratio", text)
		}
	}
}
