// Package stats implements statistics. Every function cites its source and is tested against values from an independent
// implementation. The package does no I/O; random number generators are passed in.
package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
)

// Mean returns the arithmetic mean; 0 if there are no values.
func Mean(v []float64) float64 {
	mean, _ := meanDeviation(v)
	return mean
}

// Deviation returns the standard deviation (with the divisor n − 1); 0 for fewer than 2 values.
func Deviation(v []float64) float64 {
	_, deviation := meanDeviation(v)
	return deviation
}

// TInterval returns the confidence interval of the mean of independent values by Student's t (Student 1908): mean ±
// t·s/√n with n − 1 degrees of freedom. It fails for fewer than 2 values or values that aren't finite. confidence is in
// (0, 1).
func TInterval(v []float64, confidence float64) (Interval, error) {
	if len(v) < 2 {
		return Interval{}, fmt.Errorf("a confidence interval needs at least 2 values, there are %d", len(v))
	}
	if !finite(v) {
		return Interval{}, errors.New("a confidence interval needs finite values")
	}
	mean, deviation := meanDeviation(v)
	n := float64(len(v))
	half := TQuantile(1-(1-confidence)/2, n-1) * deviation / math.Sqrt(n)
	return Interval{Value: mean, Low: mean - half, High: mean + half}, nil
}

// LogInterval returns the geometric mean and its confidence interval: TInterval of the logarithms, transformed back.
// Times and rates vary by factors, so for few values its coverage is better than TInterval's. Values must be above 0.
func LogInterval(v []float64, confidence float64) (Interval, error) {
	logs, err := logarithms(v)
	if err != nil {
		return Interval{}, err
	}
	i, err := TInterval(logs, confidence)
	return Interval{Value: math.Exp(i.Value), Low: math.Exp(i.Low), High: math.Exp(i.High)}, err
}

func logarithms(v []float64) ([]float64, error) {
	logs := make([]float64, len(v))
	for i, x := range v {
		if !(x > 0) {
			return nil, fmt.Errorf("a ratio needs values above 0, one is %g", x)
		}
		logs[i] = math.Log(x)
	}
	return logs, nil
}

func finite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// twoSided returns the probability that |T| ≥ |t| for Student's t distribution with v degrees of freedom: I(v/(v+t²);
// v/2, 1/2) (Abramowitz and Stegun 26.7.1).
func twoSided(t, v float64) float64 {
	switch {
	case math.IsInf(t, 0):
		return 0
	case math.IsNaN(t):
		return t
	}
	return mathx.BetaInc(v/(v+t*t), v/2, 0.5)
}

// TQuantile returns the quantile p in (0, 1) of Student's t distribution with v > 0 degrees of freedom. It solves
// twoSided/2 = tail by Newton's method within a bracket, with bisection where Newton's method leaves the bracket. The
// result is accurate to 10 digits up to |x| = 10⁶.
func TQuantile(p, v float64) float64 {
	if p == 0.5 {
		return 0
	}
	tail := min(p, 1-p)
	low, high := 0.0, 1.0
	for twoSided(high, v)/2 > tail && high < 1e12 {
		low, high = high, 2*high
	}
	x := (low + high) / 2
	for range 200 {
		above := twoSided(x, v)/2 - tail
		if above > 0 {
			low = x
		} else {
			high = x
		}
		next := x + above/tDensity(x, v)
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-14*x || next == x {
			break
		}
		x = next
	}
	return math.Copysign(x, p-0.5)
}

// tDensity returns the density of Student's t distribution with v degrees of freedom at x.
func tDensity(x, v float64) float64 {
	above, _ := math.Lgamma((v + 1) / 2)
	below, _ := math.Lgamma(v / 2)
	return math.Exp(above-below-(v+1)/2*math.Log1p(x*x/v)) / math.Sqrt(v*math.Pi)
}

// MedianInterval returns the confidence interval of the median of independent values of any distribution: between two
// order statistics, interpolated to the given confidence (Hettmansperger and Sheather 1986). It fails if the whole
// range of the values doesn't have that confidence: 6 values are needed for 95 %, 8 for 99 %; see RunsForMedian.
func MedianInterval(v []float64, confidence float64) (Interval, error) {
	n := len(v)
	if need := RunsForMedian(confidence); n < need {
		return Interval{}, fmt.Errorf("a confidence interval of the median needs at least %d values, there are %d", need, n)
	}
	sorted := slices.Sorted(slices.Values(v))
	// The range from the k-th least to the k-th greatest value covers the median with the probability 1 − 2·P(fewer
	// than k values are below it).
	k, tail := 1, binomialHalf(n, 0)
	covers := 1 - 2*tail
	for k < n/2 {
		tail += binomialHalf(n, k)
		inner := 1 - 2*tail
		if inner < confidence {
			break
		}
		covers = inner
		k++
	}
	low, high := sorted[k-1], sorted[n-k]
	if inner := 1 - 2*tail; inner < confidence && k < n-k && covers > confidence {
		part := (covers - confidence) / (covers - inner)
		w := float64(n-k) * part / (float64(k) + float64(n-2*k)*part)
		low, high = mix(low, sorted[k], w), mix(high, sorted[n-k-1], w)
	}
	return Interval{Value: Median(v), Low: low, High: high}, nil
}

// mix returns (1 − w)·a + w·b, also if a and b are the same infinity.
func mix(a, b, w float64) float64 {
	if a == b {
		return a
	}
	return (1-w)*a + w*b
}

// RunsForMedian returns the least number of values for which MedianInterval can compute a confidence interval.
func RunsForMedian(confidence float64) int {
	n := 2
	for 1-2*binomialHalf(n, 0) < confidence {
		n++
	}
	return n
}

// binomialHalf returns the probability of k heads in n tosses of a fair coin.
func binomialHalf(n, k int) float64 {
	return math.Exp(mathx.Lchoose(n, k) - float64(n)*math.Ln2)
}
