package stats

import "math"

// mserBatch is the batch of MSER-5, and the fewest batches that may be left.
const mserBatch = 5

// MSER5 says how many values at the beginning of a series to leave out so that the mean of the rest
// is known best: MSER-5 (White 1997; White, Cobb and Spratt 2000), which cuts where the squared
// standard error of the mean of the remaining batches of 5 is least. steady is false if that is
// beyond the middle: the series never came to rest. Fewer than 50 values are taken as steady.
func MSER5(v []float64) (cut int, steady bool) {
	n := len(v) / mserBatch
	if n < 2*mserBatch {
		return 0, true
	}
	// Odd values at the end would be lost either way; those at the beginning are the doubtful ones.
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
