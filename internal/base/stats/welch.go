package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Change is the difference between a second sample and a first.
type Change struct {
	Difference Interval // of the means, second − first
	Ratio      Interval // of the geometric means, second ÷ first; only set by Welch
	P          float64  // two-sided, for the hypothesis of no difference
	DF         float64  // degrees of freedom
	Effect     float64  // Hedges' g: the difference in units of the standard deviation
}

// Welch compares two samples of independent values above 0 by Welch's t test on their logarithms, whose differences are
// the logarithms of ratios. See WelchDifference.
func Welch(first, second []float64, confidence float64) (Change, error) {
	a, err := logarithms(first)
	if err != nil {
		return Change{}, err
	}
	b, err := logarithms(second)
	if err != nil {
		return Change{}, err
	}
	c, err := WelchDifference(a, b, confidence)
	d := c.Difference
	c.Ratio = Interval{Value: math.Exp(d.Value), Low: math.Exp(d.Low), High: math.Exp(d.High)}
	return c, err
}

// WelchDifference compares two samples of independent values by Welch's t test (Welch 1947). It fails unless each
// sample has at least 2 values, all finite. For samples without variance, P is 1 if they are equal, otherwise 0.
func WelchDifference(first, second []float64, confidence float64) (Change, error) {
	if len(first) < 2 || len(second) < 2 {
		return Change{}, fmt.Errorf("a comparison needs at least 2 values on each side, there are %d and %d", len(first),
			len(second))
	}
	if !finite(first) || !finite(second) {
		return Change{}, errors.New("a comparison of means needs finite values")
	}
	d, error2, df := welchTerms(first, second)
	c := Change{DF: df, Effect: hedges(first, second)}
	switch {
	case error2 > 0:
		c.P = twoSided(d/math.Sqrt(error2), df)
	case d == 0:
		c.P = 1
	}
	half := TQuantile(1-(1-confidence)/2, df) * math.Sqrt(error2)
	c.Difference = Interval{Value: d, Low: d - half, High: d + half}
	return c, nil
}

// welchTerms returns the difference of the means, its squared standard error, and the Welch–Satterthwaite degrees of
// freedom.
func welchTerms(a, b []float64) (d, error2, df float64) {
	meanA, sA := meanDeviation(a)
	meanB, sB := meanDeviation(b)
	n, m := float64(len(a)), float64(len(b))
	vA, vB := sA*sA/n, sB*sB/m
	df = n + m - 2
	if vA+vB > 0 {
		df = (vA + vB) * (vA + vB) / (vA*vA/(n-1) + vB*vB/(m-1))
	}
	return meanB - meanA, vA + vB, df
}

// hedges returns Hedges' g: the difference of the means in units of the pooled standard deviation, with the
// small-sample correction 1 − 3/(4·(n+m−2) − 1) (Hedges 1981). Without variance it is 0 or infinite.
func hedges(a, b []float64) float64 {
	meanA, sA := meanDeviation(a)
	meanB, sB := meanDeviation(b)
	if meanA == meanB {
		return 0
	}
	n, m := float64(len(a)), float64(len(b))
	df := n + m - 2
	pooled := math.Sqrt(((n-1)*sA*sA + (m-1)*sB*sB) / df)
	return (1 - 3/(4*df-1)) * (meanB - meanA) / pooled
}

// Holm adjusts the p-values of several tests: the probability of any false finding among those below a level is at most
// that level (Holm 1979). The order is kept.
func Holm(p []float64) []float64 {
	out, order := make([]float64, len(p)), byValue(p)
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(float64(len(p)-rank)*p[i], 1))
		out[i] = highest
	}
	return out
}

// BenjaminiHochberg adjusts the p-values of several tests: among the findings below a level, the expected fraction of
// false ones is at most that level (Benjamini and Hochberg 1995). The order is kept.
func BenjaminiHochberg(p []float64) []float64 {
	out, order := make([]float64, len(p)), byValue(p)
	lowest := 1.0
	for rank, i := range slices.Backward(order) {
		lowest = min(lowest, float64(len(p))/float64(rank+1)*p[i])
		out[i] = lowest
	}
	return out
}

// byValue returns the indexes of v in ascending order of its values.
func byValue(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	return order
}
