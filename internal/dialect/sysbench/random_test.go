package sysbench

import (
	"io"
	"math"
	"testing"
)

// chiSquare returns the statistic of counts against probabilities, and its degrees of freedom. Cells that are expected
// less than five times are joined.
func chiSquare(counts []int, expected []float64, n int) (x float64, degrees int) {
	cells, sum, mass := 0, 0, 0.0
	for i := range counts {
		sum += counts[i]
		mass += expected[i] * float64(n)
		if mass >= 5 && (i+1 == len(counts) || rest(expected[i+1:])*float64(n) >= 5) {
			x += (float64(sum) - mass) * (float64(sum) - mass) / mass
			cells++
			sum, mass = 0, 0
		}
	}
	if mass > 0 {
		x += (float64(sum) - mass) * (float64(sum) - mass) / mass
		cells++
	}
	return x, cells - 1
}

func rest(p []float64) (sum float64) {
	for _, x := range p {
		sum += x
	}
	return sum
}

// irwinHall returns the distribution function of the sum of n uniform numbers (Irwin, Hall, 1927).
func irwinHall(n int, x float64) float64 {
	sum, binomial, factorial := 0.0, 1.0, 1.0
	for k := 1; k <= n; k++ {
		factorial *= float64(k)
	}
	for k := 0; float64(k) <= x && k <= n; k++ {
		term := binomial * math.Pow(x-float64(k), float64(n)) / factorial
		if k%2 == 1 {
			term = -term
		}
		sum += term
		binomial = binomial * float64(n-k) / float64(k+1)
	}
	return min(max(sum, 0), 1)
}

// TestLaws compares the distributions with probabilities that are computed from their definitions, for ids 1 to 1000:
// the sum of twelve uniform numbers by Irwin and Hall's formula, the special ids by the share of the interval that
// leads to each, pareto by the inverse of its transformation, zipfian by powers of the rank.
func TestLaws(t *testing.T) {
	const ids, draws = 1000, 400_000
	cell := func(cdf func(x float64) float64) []float64 {
		p := make([]float64, ids)
		for i := range p {
			p[i] = cdf(float64(i+1)) - cdf(float64(i))
		}
		return p
	}
	h := 0.2
	power := math.Log(h) / math.Log(1-h)
	special := cell(func(x float64) float64 { // of id − 1 < x
		gauss := irwinHall(12, math.Min(x/(ids-1), 1)*12)
		// u·(999·0.01 + 1) + 999/2 − 999·0.01/2 < x for u uniform in [1/4, 1)
		u := (x - 999.0/2 + 999*0.01/2) / (999*0.01 + 1)
		return 0.25*gauss + 0.75*(math.Min(math.Max(u, 0.25), 1)-0.25)/0.75
	})
	zipfian := make([]float64, ids)
	total := 0.0
	for k := range zipfian {
		zipfian[k] = math.Pow(float64(k+1), -0.8)
		total += zipfian[k]
	}
	for k := range zipfian {
		zipfian[k] /= total
	}
	for _, row := range []struct {
		version, name string
		expected      []float64
	}{
		{Version10, "uniform", cell(func(x float64) float64 { return x / ids })},
		{Version10, "gaussian", cell(func(x float64) float64 { return irwinHall(12, x/ids*12) })},
		{Version10, "special", special},
		{Version10, "pareto", cell(func(x float64) float64 { return math.Pow(x/ids, 1/power) })},
		{Version11, "zipfian", zipfian},
		{Version11, "gaussian", cell(func(x float64) float64 { return irwinHall(12, x/ids*12) })},
	} {
		t.Run(row.version+" "+row.name, func(t *testing.T) {
			o := newOptions(io.Discard)
			o.register(randOptions(row.version))
			o.take("rand-type=" + row.name)
			law, err := distributionOf(o, row.version)
			if err != nil {
				t.Fatal(err)
			}
			counts := make([]int, ids)
			for i := range draws {
				r := seeded(7, uint64(i))
				r.next() // as after the draw of a table
				counts[law.draw(&r, 1, ids)-1]++
			}
			x, degrees := chiSquare(counts, row.expected, draws)
			// Five standard deviations of the statistic: once in a million, and the seed is fixed.
			if limit := float64(degrees) + 5*math.Sqrt(2*float64(degrees)); x > limit || degrees < 50 {
				t.Errorf("chi-square %.0f with %d degrees of freedom, want at most %.0f", x, degrees, limit)
			}
		})
	}
}

// TestSpecialShare: with sysbench's defaults, three quarters of the draws are in one hundredth of the ids.
func TestSpecialShare(t *testing.T) {
	o := newOptions(io.Discard)
	o.register(randOptions(Version10))
	law, err := distributionOf(o, Version10)
	if err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	middle := 0
	for i := range n {
		r := seeded(1, uint64(i))
		if id := law.draw(&r, 1, 10_000); id >= 4951 && id <= 5051 {
			middle++
		}
	}
	// 75 % and, of the rest, the density of the mean of twelve numbers in the middle: 0.01·√(6·12/π) … of 25 %
	if share := float64(middle) / n; share < 0.75 || share > 0.78 {
		t.Errorf("%.3f of the draws are in the middle hundredth", share)
	}
}

func TestUniqueIdsAre(t *testing.T) {
	u := newUnique(3)
	seen := map[uint32]bool{}
	for i := range uint32(200_000) {
		if id := u.at(i); seen[id] {
			t.Fatalf("%d comes twice", id)
		} else {
			seen[id] = true
		}
	}
}

func TestDigitGroups(t *testing.T) {
	var counts [10]int
	const n = 20_000
	for i := range n {
		r := seeded(5, uint64(i))
		text := r.digitGroups(nil, groupsOfC)
		if len(text) != 119 {
			t.Fatalf("%q has %d characters", text, len(text))
		}
		for k, b := range text {
			if k%12 == 11 {
				if b != '-' {
					t.Fatalf("%q", text)
				}
				continue
			}
			counts[b-'0']++
		}
	}
	expected := make([]float64, 10)
	for i := range expected {
		expected[i] = 0.1
	}
	if x, _ := chiSquare(counts[:], expected, n*110); x > 9+5*math.Sqrt(18) {
		t.Errorf("chi-square of digits is %.1f: %v", x, counts)
	}
}
