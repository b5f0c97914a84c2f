package stats

import "math"

// MostRuns is the greatest number of runs that RunsForWidth and RunsToSettle return.
const MostRuns = 10000

// power is the probability that the number of runs returned by RunsToSettle is sufficient.
const power = 0.8

// RunsForWidth returns how many values are needed until half the width of the confidence interval of their mean is at
// most share of the mean (Student's t, with the mean and standard deviation of v). It returns 0 if this can't be
// determined or needs more than MostRuns values.
func RunsForWidth(v []float64, share, confidence float64) int {
	mean, deviation := meanDeviation(v)
	if len(v) < 2 || mean == 0 || !finite(v) {
		return 0
	}
	return fewest(func(n float64) bool {
		return TQuantile(1-(1-confidence)/2, n-1)*deviation/math.Sqrt(n) <= share*math.Abs(mean)
	})
}

// RunsToSettle returns how many values are needed on each side to settle a comparison. It assumes that the samples'
// ratio and variability are the true ones. With that many values, the confidence interval of the ratio lies, with a
// probability of 80 %, entirely on one side of each of the limits 1 − tolerance and 1 + tolerance (the usual formula
// for t tests with Welch's degrees of freedom, on logarithms). It returns 0 if this can't be determined or needs more
// than MostRuns values.
func RunsToSettle(first, second []float64, tolerance, confidence float64) int {
	a, errA := logarithms(first)
	b, errB := logarithms(second)
	if errA != nil || errB != nil {
		return 0
	}
	return runsBetween(a, b, math.Log(1-tolerance), math.Log(1+tolerance), confidence)
}

// RunsToSettleDifference is like RunsToSettle for the difference of the means and the limits −tolerance and tolerance.
func RunsToSettleDifference(first, second []float64, tolerance, confidence float64) int {
	return runsBetween(first, second, -tolerance, tolerance, confidence)
}

func runsBetween(a, b []float64, low, high, confidence float64) int {
	if len(a) < 2 || len(b) < 2 || !finite(a) || !finite(b) {
		return 0
	}
	meanA, sA := meanDeviation(a)
	meanB, sB := meanDeviation(b)
	d := meanB - meanA
	distance := min(math.Abs(d-low), math.Abs(d-high))
	both, spread := sA*sA+sB*sB, 2.0 // degrees of freedom are spread·(n − 1)
	if both > 0 {
		spread = both * both / (sA*sA*sA*sA + sB*sB*sB*sB)
	}
	return fewest(func(n float64) bool {
		df := spread * (n - 1)
		return (TQuantile(1-(1-confidence)/2, df)+TQuantile(power, df))*math.Sqrt(both/n) <= distance
	})
}

// fewest returns the least n from 2 to MostRuns for which enough is true; 0 if there is none. enough must be monotonic.
func fewest(enough func(n float64) bool) int {
	if !enough(MostRuns) {
		return 0
	}
	low, high := 1, MostRuns
	for high-low > 1 {
		if middle := (low + high) / 2; enough(float64(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
