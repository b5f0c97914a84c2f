package stats

import "math"

// PooledP compares two of several groups of values above 0: the p-value of a two-sided t test on their logarithms, with
// the variance within all groups together (as Fisher's least significant difference; Fisher 1935). It has more power
// than Welch's test if each group has few values, and assumes that the logarithms have the same variance in all groups.
// Other groups that are empty or have values that aren't above 0 are ignored. ok is false if one of the two is such a
// group, or no group has two values.
func PooledP(groups [][]float64, first, second int) (p float64, ok bool) {
	sum, df := 0.0, 0.0
	means, sizes := make([]float64, len(groups)), make([]float64, len(groups))
	for i, g := range groups {
		v, err := logarithms(g)
		if err != nil || len(v) == 0 || !finite(v) {
			continue
		}
		mean, s := meanDeviation(v)
		means[i], sizes[i] = mean, float64(len(v))
		if len(v) > 1 {
			sum, df = sum+s*s*float64(len(v)-1), df+float64(len(v)-1)
		}
	}
	n, m := sizes[first], sizes[second]
	if df == 0 || n == 0 || m == 0 {
		return 0, false
	}
	d := means[second] - means[first]
	if sum == 0 {
		if d == 0 {
			return 1, true
		}
		return 0, true
	}
	return twoSided(d/math.Sqrt(sum/df*(1/n+1/m)), df), true
}
