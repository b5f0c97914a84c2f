package stats

import (
	"fmt"
	"math"
	"slices"
)

// BatchMeans cuts a series into n batches of consecutive values, whose lengths differ by at most one, and returns the
// mean of each batch. A series of at most n values is returned unchanged.
func BatchMeans(v []float64, n int) []float64 {
	return batches(v, n, func(b []float64) float64 {
		mean, _ := meanDeviation(b)
		return mean
	})
}

// BatchMinima is like BatchMeans but returns the minimum of each batch: the lower envelope of a series that drops from
// time to time, such as the size of a heap.
func BatchMinima(v []float64, n int) []float64 {
	return batches(v, n, func(b []float64) float64 { return slices.Min(b) })
}

// BatchMedians is like BatchMeans but returns the median of each batch. A step within a batch then doesn't produce a
// value between the levels.
func BatchMedians(v []float64, n int) []float64 { return batches(v, n, Median) }

func batches(v []float64, n int, of func([]float64) float64) []float64 {
	if len(v) <= n {
		return slices.Clone(v)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = of(v[i*len(v)/n : (i+1)*len(v)/n])
	}
	return out
}

// meanDeviation returns the mean and the standard deviation (n − 1) of v.
func meanDeviation(v []float64) (mean, deviation float64) {
	if len(v) == 0 {
		return 0, 0
	}
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	if len(v) < 2 {
		return mean, 0
	}
	for _, x := range v {
		deviation += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(v)-1))
}

// Autocorrelation returns the lag-1 autocorrelation of a series (Box, Jenkins and Reinsel, estimator r₁ with the
// overall mean). It returns 0 for fewer than 3 values or a constant series.
func Autocorrelation(v []float64) float64 {
	if len(v) < 3 {
		return 0
	}
	mean, _ := meanDeviation(v)
	var product, square float64
	for i, x := range v {
		square += (x - mean) * (x - mean)
		if i > 0 {
			product += (x - mean) * (v[i-1] - mean)
		}
	}
	if square == 0 {
		return 0
	}
	return product / square
}

// EffectiveSize returns the number of independent values that determine the mean as precisely as n values of a
// first-order autoregressive series with lag-1 autocorrelation rho: n·(1 − rho)/(1 + rho) (Bayley and Hammersley 1946).
// The result is between 1 and n: negative rho counts as 0.
func EffectiveSize(n int, rho float64) float64 {
	rho = min(max(rho, 0), 1)
	return max(float64(n)*(1-rho)/(1+rho), 1)
}

// Interval is an estimate with its confidence interval.
type Interval struct {
	Value, Low, High float64
	Correlated       bool // batches are autocorrelated: the interval was widened, but may still be too narrow
}

// correlated is the autocorrelation above which batches are not treated as independent.
const correlated = 0.2

// batchCount is the number of batches that a run is cut into.
const batchCount = 10

// MeanCI returns the confidence interval of the mean of a series by the method of batch means (Schmeiser 1982): 10
// batches, Student's t with 9 degrees of freedom. If the batches' lag-1 autocorrelation exceeds 0.2, the standard error
// is based on their effective number. MeanCI fails for fewer than 20 values. confidence is in (0, 1).
func MeanCI(v []float64, confidence float64) (Interval, error) {
	if len(v) < 2*batchCount {
		return Interval{}, fmt.Errorf("a confidence interval of the mean needs %d values, there are %d", 2*batchCount, len(v))
	}
	whole, _ := meanDeviation(v)
	return BatchCI(BatchMeans(v, batchCount), whole, confidence), nil
}

// BatchCI returns the confidence interval of a figure of a run. batches are the figure's values for at least 2
// consecutive parts of about equal length; whole is its value for the whole run, around which they vary. It uses
// Student's t (batch means: Schmeiser 1982; sectioning: Asmussen and Glynn 2007, III.4a; Nakayama 2014). If the
// batches' lag-1 autocorrelation exceeds 0.2, the standard error is based on their effective number.
func BatchCI(batches []float64, whole, confidence float64) Interval {
	n := len(batches)
	var square float64
	for _, v := range batches {
		square += (v - whole) * (v - whole)
	}
	independent := float64(n)
	rho := Autocorrelation(batches)
	if rho > correlated {
		independent = EffectiveSize(n, rho)
	}
	half := TQuantile(1-(1-confidence)/2, float64(n-1)) * math.Sqrt(square/float64(n-1)/independent)
	return Interval{Value: whole, Low: whole - half, High: whole + half, Correlated: rho > correlated}
}

// FewestExceedances is how many values of each section must be greater than a quantile.
const FewestExceedances = 10

// mserBatch is the batch size of MSER-5, and also the least number of batches that must remain.
const mserBatch = 5

// MSER5 returns how many values at the beginning of a series to discard as a warm-up: MSER-5 (White 1997; White, Cobb
// and Spratt 2000). The cut is where the squared standard error of the mean of the remaining batches of 5 is least.
// steady is false if the cut is in the second half: the series never became steady. A series of fewer than 50 values is
// treated as steady.
func MSER5(v []float64) (cut int, steady bool) {
	n := len(v) / mserBatch
	if n < 2*mserBatch {
		return 0, true
	}
	// The remainder at the end is left out; the values at the beginning are those in question.
	means := make([]float64, n)
	for i := range means {
		means[i] = Mean(v[i*mserBatch : (i+1)*mserBatch])
	}
	least, at := math.Inf(1), 0
	for d := 0; d <= n-mserBatch; d++ {
		_, s := meanDeviation(means[d:])
		left := float64(n - d)
		if e := s * s * (left - 1) / (left * left); e < least {
			least, at = e, d
		}
	}
	return at * mserBatch, 2*at <= n
}
