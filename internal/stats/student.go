// Package stats is pure statistics: every function cites its source and is tested against values
// from an independent implementation. It does no I/O; random numbers are handed in.
package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
)

// Mean is the arithmetic mean; 0 if there are no values.
func Mean(v []float64) float64 {
	mean, _ := meanDeviation(v)
	return mean
}

// Deviation is the standard deviation (n − 1); 0 of fewer than 2 values.
func Deviation(v []float64) float64 {
	_, deviation := meanDeviation(v)
	return deviation
}

// TInterval is the confidence interval of the mean of independent values by Student's t (Student
// 1908): mean ± t·s/√n with n − 1 degrees of freedom. It needs 2 finite values; confidence is in
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

// LogInterval is TInterval on the logarithms, taken back: the geometric mean and its confidence
// interval. Times and rates vary by factors, so of few values it covers better. Values must be
// above 0.
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
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// twoSided is the probability that |T| of Student's t distribution with v degrees of freedom is at
// least |t|: I(v/(v+t²); v/2, 1/2) (Abramowitz and Stegun 26.7.1).
func twoSided(t, v float64) float64 {
	switch {
	case math.IsInf(t, 0):
		return 0
	case math.IsNaN(t):
		return t
	}
	return mathx.BetaInc(v/(v+t*t), v/2, 0.5)
}

// TQuantile is the quantile p in (0, 1) of Student's t distribution with v > 0 degrees of freedom: where
// half of twoSided is the tail, by Newton's method within a bracket that is halved where it leads astray.
// It is right to 10 digits up to |x| of 10⁶.
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

// tDensity is the density of Student's t distribution.
func tDensity(x, v float64) float64 {
	above, _ := math.Lgamma((v + 1) / 2)
	below, _ := math.Lgamma(v / 2)
	return math.Exp(above-below-(v+1)/2*math.Log1p(x*x/v)) / math.Sqrt(v*math.Pi)
}

// MedianInterval is the confidence interval of the median of independent values, of whatever
// distribution: between two order statistics, interpolated to the confidence asked for (Hettmansperger
// and Sheather 1986). It needs so many values that the whole range covers with that confidence: 6 for
// 95 %, 8 for 99 %; see RunsForMedian.
func MedianInterval(v []float64, confidence float64) (Interval, error) {
	n := len(v)
	if need := RunsForMedian(confidence); n < need {
		return Interval{}, fmt.Errorf("a confidence interval of the median needs at least %d values, there are %d", need, n)
	}
	sorted := slices.Sorted(slices.Values(v))
	// From the k-th least to the k-th greatest value covers 1 − 2·P(fewer than k lie below).
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

// mix is (1 − w)·a + w·b, also where they are the same infinity.
func mix(a, b, w float64) float64 {
	if a == b {
		return a
	}
	return (1-w)*a + w*b
}

// RunsForMedian is the least number of values from which a confidence interval of the median can be
// computed.
func RunsForMedian(confidence float64) int {
	n := 2
	for 1-2*binomialHalf(n, 0) < confidence {
		n++
	}
	return n
}

// binomialHalf is the probability of k heads in n tosses of a coin.
func binomialHalf(n, k int) float64 {
	return math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	gamma := func(n int) float64 {
		g, _ := math.Lgamma(float64(n + 1))
		return g
	}
	return gamma(n) - gamma(k) - gamma(n-k)
}
