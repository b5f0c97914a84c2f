package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// ChangePoint is a point at which the level of a series changes.
type ChangePoint struct {
	Index  int     // index of the first value at the new level
	P      float64 // p-value of Student's t test between the segments before and after
	Before float64 // mean of the segment that ends here
	After  float64 // mean of the segment that begins here
}

// Magnitude returns the change relative to the smaller of the two levels; it is infinite if one level is zero.
func (c ChangePoint) Magnitude() float64 {
	share := func(from, to float64) float64 {
		if from == 0 {
			return 0
		}
		return math.Abs(to/from - 1)
	}
	if c.Before == 0 && c.After == 0 {
		return 0
	}
	return max(share(c.Before, c.After), share(c.After, c.Before))
}

// ChangeOptions configure the search for changes. A zero field means the default given next to it.
type ChangeOptions struct {
	Window    int     // number of values in a window; 50
	P         float64 // greatest p-value of a change; 0.001
	Magnitude float64 // least relative change; 0
}

// usualP is the default of ChangeOptions.P.
const usualP = 0.001

// ChangePoints finds the points at which the level of a series changes, in order of time. It uses the algorithm of
// Apache Otava: E-divisive (Matteson and James 2014) in windows that overlap by half, with Student's t test instead of
// permutations and ten times the p-value; then the weakest points are removed until all remaining ones are significant
// and large enough (Fleming et al. 2023, "Hunter"). Values must be finite. Fewer than 3 values have no change.
func ChangePoints(v []float64, o ChangeOptions) []ChangePoint {
	p := cmp.Or(o.P, usualP)
	cuts := weakCuts(v, max(cmp.Or(o.Window, 50), 2), firstPass(p))
	return strongest(v, cuts, p, o.Magnitude)
}

// firstPass returns the greatest p-value of the points that are passed on to the second pass.
func firstPass(p float64) float64 {
	switch {
	case p < 0.05:
		return 10 * p
	case p < 0.5:
		return 2 * p
	}
	return p
}

// weakCuts returns the change points of all windows, sorted.
func weakCuts(v []float64, window int, p float64) (cuts []int) {
	for start := 0; start < len(v); {
		found := windowCuts(v[start:min(start+window, len(v))], p)
		last := 0
		for _, c := range found {
			last = max(last, start+c)
			if !slices.Contains(cuts, start+c) {
				cuts = append(cuts, start+c)
			}
		}
		start = max(last, start+window/2)
	}
	slices.Sort(cuts)
	return cuts
}

// windowCuts splits a window at the greatest divergence as long as the split is significant.
func windowCuts(v []float64, p float64) (cuts []int) {
	d := newDivergences(v)
	for {
		at, _, ok := d.best(cuts)
		if !ok {
			return cuts
		}
		start, end := around(cuts, at, len(v))
		if !(levelP(v[start:at], v[at:end]) <= p) {
			return cuts
		}
		cuts = append(cuts, at)
		slices.Sort(cuts)
	}
}

// around returns the segment that contains at.
func around(cuts []int, at, n int) (start, end int) {
	for start, end = range stretches(cuts, n) {
		if at < end {
			break
		}
	}
	return start, end
}

// strongest removes the weakest cut until all are significant and large enough. Like Otava 0.8, after each removal it
// re-evaluates only the two cuts that follow, not the preceding one; all figures are recomputed at the end.
func strongest(v []float64, cuts []int, p, magnitude float64) []ChangePoint {
	points := make([]ChangePoint, len(cuts))
	for i := range cuts {
		points[i] = pointAt(v, cuts, i)
	}
	for len(points) > 0 {
		weakest := 0
		for i := range points {
			if points[i].P > points[weakest].P {
				weakest = i
			}
		}
		if points[weakest].P < p {
			for i := range points {
				if i == 0 || points[i].Magnitude() < points[weakest].Magnitude() {
					weakest = i
				}
			}
			if points[weakest].Magnitude() > magnitude {
				for i := range points {
					points[i] = pointAt(v, cuts, i)
				}
				return points
			}
		}
		cuts, points = slices.Delete(cuts, weakest, weakest+1), slices.Delete(points, weakest, weakest+1)
		for _, i := range []int{weakest, weakest + 1} {
			if i < len(points) {
				points[i] = pointAt(v, cuts, i)
			}
		}
	}
	return nil
}

// pointAt returns the change point at cut i, between its neighbouring cuts.
func pointAt(v []float64, cuts []int, i int) ChangePoint {
	start, end := 0, len(v)
	if i > 0 {
		start = cuts[i-1]
	}
	if i+1 < len(cuts) {
		end = cuts[i+1]
	}
	before, after := v[start:cuts[i]], v[cuts[i]:end]
	return ChangePoint{Index: cuts[i], P: levelP(before, after), Before: Mean(before), After: Mean(after)}
}

// levelP returns the two-sided p-value of Student's t test with pooled variance, computed like in Otava from standard
// deviations with the divisor n. It is NaN, and so never significant, for equal samples without variance.
func levelP(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	if n+m <= 2 {
		return 1
	}
	meanA, sA := meanDeviation(a)
	meanB, sB := meanDeviation(b)
	vA, vB := sA*sA*(n-1)/n, sB*sB*(m-1)/m
	df := n + m - 2
	pooled := ((n-1)*vA + (m-1)*vB) / df
	return twoSided((meanA-meanB)/math.Sqrt(pooled*(1/n+1/m)), df)
}

// PermutedChangePoints finds changes of the distribution of a series by E-divisive as published by Matteson and James
// 2014: without windows, and for values of any distribution. A split is significant if at most the fraction o.P of the
// given number of permutations within the segments found so far has as great a divergence. Points below o.Magnitude are
// removed at the end; o.Window is not used. r generates the permutations.
func PermutedChangePoints(v []float64, o ChangeOptions, permutations int, r *rand.Rand) []ChangePoint {
	p := cmp.Or(o.P, usualP)
	var cuts []int
	d := newDivergences(v)
	for {
		at, divergence, ok := d.best(cuts)
		if !ok || d.asGreat(divergence, cuts, permutations, r) > p {
			// the permutations have decided, so the P of the t test is not used
			return strongest(v, cuts, math.Inf(1), o.Magnitude)
		}
		cuts = append(cuts, at)
		slices.Sort(cuts)
	}
}

// asGreat returns the fraction of permutations within the segments that have as great a divergence.
func (d *divergences) asGreat(divergence float64, cuts []int, permutations int, r *rand.Rand) float64 {
	extreme, dealt := 0, slices.Clone(d.v)
	for range permutations {
		for start, end := range stretches(cuts, len(dealt)) {
			part := dealt[start:end]
			r.Shuffle(len(part), func(i, k int) { part[i], part[k] = part[k], part[i] })
		}
		if _, q, _ := newDivergences(dealt).best(cuts); q >= divergence {
			extreme++
		}
	}
	return float64(extreme) / float64(permutations+1)
}
