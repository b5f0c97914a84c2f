package stats

import (
	"math"
	"slices"
)

// exactLimit is the greatest length of a series for which the distribution of S is computed exactly. For longer series
// the normal approximation is accurate to three digits.
const exactLimit = 60

// Trend is the result of a Mann–Kendall test.
type Trend struct {
	S     int     // rising pairs minus falling pairs; above 0 for a rising series
	P     float64 // two-sided
	Exact bool    // P is from the exact distribution, not from the normal approximation
}

// MannKendall tests whether a series, in order of time, has a monotonic trend (Mann 1945; Kendall 1975). Up to 60
// values, P is exact, also with ties: S depends on the number of inversions of a permutation of a multiset, whose
// distribution is the Gaussian multinomial coefficient (MacMahon 1916). For longer series P is the normal approximation
// with corrections for ties and continuity. Values must be finite. Fewer than 3 values have no trend: P is 1.
func MannKendall(v []float64) Trend {
	s := kendallS(v)
	if len(v) < 3 {
		return Trend{S: s, P: 1, Exact: true}
	}
	ties := tieGroups(v)
	if len(v) <= exactLimit {
		return Trend{S: s, P: exactP(s, ties), Exact: true}
	}
	return Trend{S: s, P: normalP(s, len(v), ties)}
}

// kendallS returns the number of rising pairs minus the number of falling pairs.
func kendallS(v []float64) (s int) {
	for i, a := range v {
		for _, b := range v[i+1:] {
			switch {
			case b > a:
				s++
			case b < a:
				s--
			}
		}
	}
	return s
}

// tieGroups returns how often each value occurs, in ascending order of the values.
func tieGroups(v []float64) (sizes []int) {
	sorted := slices.Sorted(slices.Values(v))
	for i := 0; i < len(sorted); {
		k := i
		for k < len(sorted) && sorted[k] == sorted[i] {
			k++
		}
		sizes = append(sizes, k-i)
		i = k
	}
	return sizes
}

// exactP returns P(|S| ≥ |s|) under the assumption that all orders of the values are equally likely.
func exactP(s int, ties []int) float64 {
	inversions := []float64{1}
	n := ties[0]
	for _, t := range ties[1:] {
		inversions = convolve(inversions, mannWhitney(n, t))
		n += t
	}
	pairs := len(inversions) - 1 // number of pairs that aren't tied; S = pairs − 2·inversions
	if s < 0 {
		s = -s
	}
	var p float64
	for k, mass := range inversions {
		if d := pairs - 2*k; d >= s || d <= -s {
			p += mass
		}
	}
	return min(p, 1)
}

// mannWhitney returns the distribution of the number of inversions between m values and t larger ones in random order,
// by the recursion over which kind of value is last (Mann and Whitney 1947).
func mannWhitney(m, t int) []float64 {
	row := make([][]float64, t+1) // row[k]: for k larger values and i smaller ones
	for k := range row {
		row[k] = []float64{1}
	}
	for i := 1; i <= m; i++ {
		for k := 1; k <= t; k++ {
			// If the last value is one of the i smaller ones, it has an inversion with each of the k larger ones.
			next := make([]float64, i*k+1)
			for u, mass := range row[k] {
				next[u+k] += mass * float64(i) / float64(i+k)
			}
			for u, mass := range row[k-1] {
				next[u] += mass * float64(k) / float64(i+k)
			}
			row[k] = next
		}
	}
	return row[t]
}

func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for k, y := range b {
			out[i+k] += x * y
		}
	}
	return out
}

func normalP(s, n int, ties []int) float64 {
	term := func(n int) float64 { return float64(n) * float64(n-1) * float64(2*n+5) }
	variance := term(n)
	for _, t := range ties {
		variance -= term(t)
	}
	variance /= 18
	if variance <= 0 || s == 0 {
		return 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// TheilSen returns the slope per step of a series: the median of the slopes of all pairs (Sen 1968). It is 0 for fewer
// than 2 values.
func TheilSen(v []float64) float64 {
	var slopes []float64
	for i, a := range v {
		for k := i + 1; k < len(v); k++ {
			slopes = append(slopes, (v[k]-a)/float64(k-i))
		}
	}
	return Median(slopes)
}

// Median returns the middle value, or the mean of the two middle ones; 0 if there are no values.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(v))
	m := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[m]
	}
	return (sorted[m-1] + sorted[m]) / 2
}

// GrowthBatches is the number of batches that a series is cut into for the assessment of its growth.
const GrowthBatches = 12

const (
	growthP     = 0.01 // of the Mann–Kendall test
	growthShare = 0.02 // of the median, over the whole run
	levelShare  = 0.1  // of the slope of the first half
)

// Growth describes how a series changed over a run.
type Growth struct {
	Trend
	Slope  float64 // Theil–Sen, per batch
	Median float64 // of the batches
	Share  float64 // change over the run ÷ |Median|; 0 if Median is 0
	Early  float64 // Theil–Sen of the first half of the batches
	Later  float64 // Theil–Sen of the second half
}

// GrowthOf assesses the batches of a run, which must be equally spaced in time. The change over the run is the
// Theil–Sen slope times the number of batches.
func GrowthOf(batches []float64) Growth {
	g := Growth{Trend: MannKendall(batches), Slope: TheilSen(batches), Median: Median(batches)}
	if m := g.Median; m != 0 {
		g.Share = g.Slope * float64(len(batches)) / max(m, -m)
	}
	half := len(batches) / 2
	g.Early, g.Later = TheilSen(batches[:half]), TheilSen(batches[half:])
	return g
}

// Grows reports whether the series rises: significantly in the Mann–Kendall test (p < 0.01), and by more than 2 % of
// its median over the run. The second condition excludes growth that is significant only because the run was long.
func (g Growth) Grows() bool { return g.P < growthP && g.Share > growthShare }

// Shrinks reports whether the series falls, by the same rule.
func (g Growth) Shrinks() bool { return g.P < growthP && g.Share < -growthShare }

// Levels reports whether a growing series seems to level off: its second half rises at no more than a tenth of the rate
// of the first. Caches that fill up and heaps that reach their size do so; leaks don't. A single step, such as one more
// thread, also counts as levelling off.
func (g Growth) Levels() bool { return g.Later <= levelShare*g.Early }

// Steps reports whether apparent growth is a single step. The batches must be medians, which have no value between the
// levels of a step. It is a step if the slope almost vanishes, or if both halves rise at less than a tenth of the whole
// series' rate.
func (g Growth) Steps() bool {
	return g.Share <= growthShare || g.Early < levelShare*g.Slope && g.Later < levelShare*g.Slope
}
