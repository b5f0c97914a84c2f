package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// ChangePoint is where the level of a series changes.
type ChangePoint struct {
	Index  int     // of the first value on the new level
	P      float64 // of Student's t test between the stretches before and after
	Before float64 // mean of the stretch since the last change
	After  float64 // mean of the stretch up to the next
}

// Magnitude is the change relative to the smaller of the two levels; infinite from or to zero.
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

// ChangeOptions are how changes are looked for. The zero value means the defaults named next to each.
type ChangeOptions struct {
	Window    int     // values looked at together; 50
	P         float64 // the greatest p-value of a change; 0.001
	Magnitude float64 // the least relative change; 0
}

// ChangePoints finds where the level of a series changes, in the order of time, as Apache Otava does:
// E-divisive (Matteson and James 2014) in windows that overlap by half, with Student's t test in place
// of permutations and ten times the p-value, and then the weakest points taken away until all that stay
// are significant and large enough (Fleming et al. 2023, "Hunter"). Values must be finite. Fewer than 3
// have no change.
func ChangePoints(v []float64, o ChangeOptions) []ChangePoint {
	window, p := o.Window, o.P
	if window == 0 {
		window = 50
	}
	if p == 0 {
		p = 0.001
	}
	cuts := weakCuts(v, max(window, 2), firstPass(p))
	return strongest(v, cuts, p, o.Magnitude)
}

// firstPass is the p-value up to which a point is kept for the second pass.
func firstPass(p float64) float64 {
	switch {
	case p < 0.05:
		return 10 * p
	case p < 0.5:
		return 2 * p
	}
	return p
}

// weakCuts unites the change points of the windows.
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

// windowCuts splits a window where it diverges most for as long as that is significant.
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

// around is the stretch that holds at.
func around(cuts []int, at, n int) (start, end int) {
	for start, end = range stretches(cuts, n) {
		if at < end {
			break
		}
	}
	return start, end
}

// strongest takes the weakest cut away until all are significant and large enough. Like Otava 0.8 it judges
// the two cuts after one that went again, not the one before; at the end all figures are.
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

// pointAt is cut i, between its neighbours.
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

// levelP is the two-sided p-value of Student's t test with pooled variance, computed from standard
// deviations over n as Otava does. It is NaN for equal samples without variance, which is never
// significant.
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

// PermutedChangePoints finds where the distribution of a series changes by E-divisive as Matteson and
// James 2014 have it, without windows and for values of any distribution: a split counts if among so many
// permutations within the stretches found so far at most the share o.P has as great a divergence. Points
// below o.Magnitude are taken away at the end; o.Window is not used. r deals the permutations.
func PermutedChangePoints(v []float64, o ChangeOptions, permutations int, r *rand.Rand) []ChangePoint {
	p := o.P
	if p == 0 {
		p = 0.001
	}
	var cuts []int
	d := newDivergences(v)
	for {
		at, divergence, ok := d.best(cuts)
		if !ok || d.asGreat(divergence, cuts, permutations, r) > p {
			// Whatever its P by the t test, the permutations have decided.
			return strongest(v, cuts, math.Inf(1), o.Magnitude)
		}
		cuts = append(cuts, at)
		slices.Sort(cuts)
	}
}

// asGreat is the share of permutations within the stretches that split with as great a divergence.
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
