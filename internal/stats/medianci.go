package stats

import (
	"fmt"
	"math"
	"slices"
)

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
