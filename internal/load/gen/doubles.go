package gen

import (
	"math"
)

// doubleSteps is the number of equal steps that zipf and sequential divide a range of doubles
// into.
const doubleSteps = 1_000_000

// fractions draws fractions of a range by a distribution, in [0, 1); zipf and sequential give
// multiples of 1/doubleSteps in [0, 1].
type fractions struct {
	ranks Ranks
	hot   float64
	lo    []float64 // of a histogram's parts
	width []float64
}

func newFractions(spec *Spec) (fractions, *FieldError) {
	if err := checkDistribution(spec); err != nil {
		return fractions{}, err
	}
	f := fractions{hot: orDefault(spec.HotFraction, DefaultHotFraction)}
	var err *FieldError
	if spec.Distribution != Histogram {
		f.ranks, err = newRanks(spec, doubleSteps, axis{})
		return f, err
	}
	f.ranks.shape = histogramShape
	f.ranks.parts, _ = NewWeighted(bucketWeights(spec.Buckets))
	lo, hi := spec.floatRange(1)
	equal, k := equalParts(spec.Buckets), float64(len(spec.Buckets))
	for i, b := range spec.Buckets {
		start, end := float64(i)/k, float64(i+1)/k
		if !equal {
			if b.Lo < lo || b.Hi > hi {
				return f, fault("histogram", "bucket %d, from %v to %v, leaves the range: keep it inside", i+1, b.Lo, b.Hi)
			}
			start, end = fractionOf(b.Lo, lo, hi), fractionOf(b.Hi, lo, hi)
		}
		f.lo, f.width = append(f.lo, start), append(f.width, end-start)
	}
	return f, nil
}

// fractionOf returns the position of x between lo and hi as a fraction, without overflow.
func fractionOf(x, lo, hi float64) float64 {
	if hi == lo {
		return 0
	}
	return (x/2 - lo/2) / (hi/2 - lo/2)
}

func (f *fractions) draw(r *Rand, index uint64) float64 {
	switch f.ranks.shape {
	case normalShape:
		return normalUnit(r, f.ranks.param)
	case exponentialShape:
		return exponentialUnit(r, f.ranks.param, f.ranks.mass)
	case hotspotShape:
		if r.Float64() < f.ranks.param {
			return f.hot * r.Float64()
		}
		return f.hot + float64((1-f.hot)*r.Float64())
	case zipfShape, sequentialShape:
		return float64(f.ranks.Draw(r, index)) / doubleSteps
	case histogramShape:
		part := f.ranks.parts.Pick(r)
		return f.lo[part] + float64(f.width[part]*r.Float64())
	}
	return r.Float64()
}

// doubles generates floating-point numbers in a range.
type doubles struct {
	stream    Stream
	fractions fractions
	lo, hi    float64
}

func (g *doubles) Value(v *Value, index uint64) {
	if g.fractions.ranks.shape == uniformShape {
		v.Kind, v.F = Float, between(g.lo, g.hi, g.stream.Float64(index))
		return
	}
	r := g.stream.At(index)
	v.Kind, v.F = Float, between(g.lo, g.hi, g.fractions.draw(&r, index))
}

// between returns lo + u·(hi − lo), without overflow.
func between(lo, hi, u float64) float64 {
	width := hi - lo
	if math.IsInf(width, 0) {
		return float64(lo*(1-u)) + float64(hi*u)
	}
	return min(lo+float64(u*width), hi)
}

// uniqueDoubles generates distinct numbers: equal steps over the range in a permuted order.
type uniqueDoubles struct {
	order  Permutation
	steps  uint64
	lo, hi float64
}

func (g *uniqueDoubles) Value(v *Value, index uint64) {
	u := float64(g.order.At(index)) / float64(g.steps)
	v.Kind, v.F = Float, between(g.lo, g.hi, u)
}

func newDoubles(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	lo, hi := spec.floatRange(1)
	if spec.Unique {
		steps := rows
		if rows == 0 {
			steps = max(min(parameterTexts, spec.doubleSpace()), 1)
		}
		return &uniqueDoubles{NewPermutation(stream.Sub("order"), steps), steps, lo, hi}, nil
	}
	f, err := newFractions(spec)
	if err != nil {
		return nil, err
	}
	return &doubles{stream, f, lo, hi}, nil
}

// doubleSpace returns how many steps of a range of doubles are certain to stay distinct after rounding: steps of at
// least 16 units in the last place of the range's larger end, at most 2^50.
func (s *Spec) doubleSpace() uint64 {
	lo, hi := s.floatRange(1)
	largest := max(math.Abs(lo), math.Abs(hi))
	ulp := math.Nextafter(largest, math.Inf(1)) - largest
	if math.IsInf(ulp, 0) {
		ulp = 0x1p971
	}
	steps := (hi/16 - lo/16) / ulp
	if steps >= 1<<50 {
		return 1 << 50
	}
	return max(uint64(steps), 1)
}
