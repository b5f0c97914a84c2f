package stats

import (
	"cmp"
	"slices"
)

// Holm adjusts the p-values of several tests so that the chance of any false finding among those
// below a level is at most that level (Holm 1979). The order stays.
func Holm(p []float64) []float64 {
	out, order := make([]float64, len(p)), byValue(p)
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(float64(len(p)-rank)*p[i], 1))
		out[i] = highest
	}
	return out
}

// BenjaminiHochberg adjusts the p-values of several tests so that of the findings below a level at
// most that share is false, on average (Benjamini and Hochberg 1995). The order stays.
func BenjaminiHochberg(p []float64) []float64 {
	out, order := make([]float64, len(p)), byValue(p)
	lowest := 1.0
	for rank, i := range slices.Backward(order) {
		lowest = min(lowest, float64(len(p))/float64(rank+1)*p[i])
		out[i] = lowest
	}
	return out
}

// byValue are the indices of v in the order of its values.
func byValue(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	return order
}
