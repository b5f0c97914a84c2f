package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// population is a distribution of the figures of runs, with the true values of the estimated quantities.
type population struct {
	name                        string
	mean, geometricMean, median float64
	draw                        func(r *rand.Rand) float64
}

// populations returns one symmetric distribution and three with increasing skew.
func populations() []population {
	const shape = 2.5 // of the Pareto distribution; its variance is finite above 2
	return []population{
		{"log-normal, σ 0.3", math.Exp(0.045), 1, 1, func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }},
		{"log-normal, σ 1", math.Exp(0.5), 1, 1, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
		{"exponential", 1, math.Exp(-0.5772156649015329), math.Ln2, func(r *rand.Rand) float64 { return r.ExpFloat64() }},
		{"Pareto, α 2.5", shape / (shape - 1), math.Exp(1 / shape), math.Pow(2, 1/shape), func(r *rand.Rand) float64 {
			return math.Pow(1-r.Float64(), -1/shape)
		}},
	}
}

// bca returns the bias-corrected and accelerated bootstrap interval of the mean (Efron 1987). The test shows why it
// isn't used.
func bca(r *rand.Rand, v []float64, confidence float64) Interval {
	const resamples = 400
	mean, below := Mean(v), 0.0
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range v {
			sum += v[r.IntN(len(v))]
		}
		means[i] = sum / float64(len(v))
		if means[i] < mean {
			below++
		}
	}
	order := byValue(means)
	var cubes, squares float64
	for _, x := range v {
		d := x - mean // proportional to the deviation of the jackknife's means; the factor cancels out
		cubes, squares = cubes+d*d*d, squares+d*d
	}
	acceleration := cubes / (6 * math.Pow(squares, 1.5))
	normal := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	bias := normal(min(max(below, 1), resamples-1) / resamples)
	end := func(p float64) float64 {
		z := bias + normal(p)
		at := math.Erfc(-(bias+z/(1-acceleration*z))/math.Sqrt2) / 2
		return means[order[min(max(int(at*resamples), 0), resamples-1)]]
	}
	tail := (1 - confidence) / 2
	return Interval{Value: mean, Low: end(tail), High: end(1 - tail)}
}

// The documentation's claim about intervals comes from this simulation. It counts, over 2000 samples of each population
// and size, the percentage of 95 % intervals that contain the true value.
func TestCoverageIsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	const samples = 2000
	for _, p := range populations() {
		for _, n := range []int{5, 10, 20, 40} {
			t.Run(fmt.Sprintf("%s, %d runs", p.name, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 31))
				held := map[string]int{}
				for range samples {
					v := make([]float64, n)
					for i := range v {
						v[i] = p.draw(r)
					}
					count := func(name string, i Interval, err error, truth float64) {
						if err == nil && i.Low <= truth && truth <= i.High {
							held[name]++
						}
					}
					i, err := LogInterval(v, 0.95)
					count("log", i, err, p.geometricMean)
					i, err = MedianInterval(v, 0.95)
					count("median", i, err, p.median)
					i, err = TInterval(v, 0.95)
					count("t", i, err, p.mean)
					count("bca", bca(r, v, 0.95), nil, p.mean)
				}
				share := func(name string) string {
					if name == "median" && n < RunsForMedian(0.95) {
						return "–"
					}
					return fmt.Sprintf("%.0f", 100*float64(held[name])/samples)
				}
				line := fmt.Sprintf("| %s | %d | %s | %s | %s | %s |", p.name, n, share("log"), share("median"), share("t"),
					share("bca"))
				if !strings.Contains(string(page), line) {
					t.Errorf("docs/compare.md doesn't have\n%s", line)
				}
			})
		}
	}
}
