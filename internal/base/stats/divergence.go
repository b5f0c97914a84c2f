package stats

import "math"

// divergences provides the criterion by which E-divisive splits a series: the divergence between a segment and the
// segment that follows it, for all pairs of segments (Matteson and James 2014, with α = 1).
type divergences struct {
	v []float64
	// before[k][i] is the sum of |v[j] − v[k]| over j < i.
	before [][]float64
}

func newDivergences(v []float64) *divergences {
	d := &divergences{v: v, before: make([][]float64, len(v))}
	for k := range v {
		row := make([]float64, len(v)+1)
		for i, x := range v {
			row[i+1] = row[i] + math.Abs(x-v[k])
		}
		d.before[k] = row
	}
	return d
}

// split returns the best split of v[start:end]: the index at which the second segment begins, and the divergence there.
// The first segment begins at start; the second one may end before end. At least 2 values are needed. As in Apache
// Otava, the first of equal splits is chosen, and negative divergences count as none.
func (d *divergences) split(start, end int) (at int, divergence float64) {
	divergence = math.Inf(-1)
	within := 0.0 // Σ|x − y| over the pairs of values of the first segment
	for tau := start + 1; tau < end; tau++ {
		within += d.before[tau-1][tau-1] - d.before[tau-1][start]
		if tau > start+1 && divergence < 0 {
			at, divergence = tau, 0 // the split with an empty second segment
		}
		n := float64(tau - start)
		var between, second float64
		for k := tau; k < end; k++ {
			between += d.before[k][tau] - d.before[k][start]
			second += d.before[k][k] - d.before[k][tau]
			m := float64(k + 1 - tau)
			q := 2 / (m + n) * between
			if n > 1 {
				q -= 2 * m / (m + n) / (n - 1) * within
			}
			if m > 1 {
				q -= 2 * n / (m + n) / (m - 1) * second
			}
			if q > divergence {
				at, divergence = tau, q
			}
		}
	}
	return at, divergence
}

// best returns the split with the greatest divergence in the segments between the cuts. ok is false if no segment has 2
// values.
func (d *divergences) best(cuts []int) (at int, divergence float64, ok bool) {
	for start, end := range stretches(cuts, len(d.v)) {
		if end-start < 2 {
			continue
		}
		if i, q := d.split(start, end); !ok || q > divergence {
			at, divergence, ok = i, q, true
		}
	}
	return at, divergence, ok
}

// stretches iterates over the non-empty segments of n values between the cuts, in order.
func stretches(cuts []int, n int) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		start := 0
		for i := 0; i <= len(cuts); i++ {
			end := n
			if i < len(cuts) {
				end = cuts[i]
			}
			if start != end && !yield(start, end) {
				return
			}
			start = end
		}
	}
}
