package gen

import (
	"math"
	"math/bits"
	"slices"
)

// Defaults of the parameters of distributions.
const (
	DefaultSigmas      = 3.0 // normal: standard deviations from the middle to an end
	DefaultExponent    = 1.1 // zipf
	DefaultRate        = 5.0 // exponential: over the whole range
	DefaultHotShare    = 0.8 // hotspot: draws that go to the hot part
	DefaultHotFraction = 0.2 // hotspot: size of the hot part
)

// Ranks draws ranks 0, 1, …, n-1 by a distribution, in constant time and memory. It is
// immutable. Rank 0 is the most frequent of zipf and exponential and the first of the hot part.
//
//   - uniform: all alike.
//   - normal: cut at the range's ends, mean in its middle, Param standard deviations to an end.
//   - zipf: P(k) ∝ (k+1)^-Param.
//   - exponential: density ∝ e^(-Param·k/n).
//   - hotspot: Param of the draws uniform in the first HotFraction of the ranks (at least
//     one), the others uniform in the rest.
//   - sequential: index mod n.
//   - histogram: a bucket by weight, uniform within it.
//
// normal, zipf and exponential use the math package, whose functions may differ in the last bit
// between processor architectures, and so may, very rarely, a rank. The others are exact.
type Ranks struct {
	shape  shape
	top    uint64 // n-1
	param  float64
	mass   float64 // exponential: 1 - e^-param
	zipf   zipf
	hotTop uint64 // the last hot rank
	parts  *Weighted
	spans  []span
}

// shape is a Distribution in a form that is quick to compare.
type shape uint8

const (
	uniformShape shape = iota
	normalShape
	zipfShape
	exponentialShape
	hotspotShape
	sequentialShape
	histogramShape
)

func shapeOf(d Distribution) shape {
	all := []Distribution{Uniform, Normal, Zipf, Exponential, Hotspot, Sequential, Histogram} // as the shapes
	return shape(max(slices.Index(all, d), 0))
}

// span is a part of a range of ranks: first to last.
type span struct{ first, last uint64 }

// newRanks returns the Ranks from 0 to top for a Spec's Distribution, Param, HotFraction and Buckets. The buckets' Lo
// and Hi are values on the axis a; with its zero value, they are ranks.
func newRanks(spec *Spec, top uint64, a axis) (Ranks, *FieldError) {
	if err := checkDistribution(spec); err != nil {
		return Ranks{}, err
	}
	d := Ranks{shape: shapeOf(spec.Distribution), top: top}
	switch spec.Distribution {
	case Normal:
		d.param = orDefault(spec.Param, DefaultSigmas)
	case Zipf:
		d.zipf = newZipf(orDefault(spec.Param, DefaultExponent), top)
	case Exponential:
		d.param = orDefault(spec.Param, DefaultRate)
		d.mass = -math.Expm1(-d.param)
	case Hotspot:
		d.param = orDefault(spec.Param, DefaultHotShare)
		d.hotTop = hotTop(orDefault(spec.HotFraction, DefaultHotFraction), top)
	case Histogram:
		spans, err := rankSpans(spec.Buckets, top, a)
		if err != nil {
			return Ranks{}, err
		}
		d.spans = spans
		d.parts, _ = NewWeighted(bucketWeights(spec.Buckets))
	}
	return d, nil
}

// At returns the rank for an index of a stream.
func (d *Ranks) At(s Stream, index uint64) uint64 {
	if d.shape == uniformShape {
		return s.Uint64n(index, d.top+1)
	}
	r := s.At(index)
	return d.Draw(&r, index)
}

// Draw returns the rank for an index, with random numbers from r.
func (d *Ranks) Draw(r *Rand, index uint64) uint64 {
	switch d.shape {
	case normalShape:
		return spreadUnit(normalUnit(r, d.param), d.top, r)
	case zipfShape:
		return d.zipf.draw(r)
	case exponentialShape:
		return spreadUnit(exponentialUnit(r, d.param, d.mass), d.top, r)
	case hotspotShape:
		if r.Float64() < d.param || d.hotTop == d.top {
			return r.Uint64n(d.hotTop + 1)
		}
		return d.hotTop + 1 + r.Uint64n(d.top-d.hotTop)
	case sequentialShape:
		if d.top == math.MaxUint64 {
			return index
		}
		return index % (d.top + 1)
	case histogramShape:
		s := d.spans[d.parts.Pick(r)]
		return s.first + r.Uint64n(s.last-s.first+1)
	}
	return r.Uint64n(d.top + 1)
}

// hotTop returns the last hot rank: at least one rank is hot.
func hotTop(fraction float64, top uint64) uint64 {
	hot := math.Floor(fraction * (float64(top) + 1))
	if hot < 1 {
		return 0
	}
	if hot >= 0x1p64 {
		return top
	}
	return min(uint64(hot)-1, top)
}

func orDefault(x, standard float64) float64 {
	if x == 0 {
		return standard
	}
	return x
}

// zipf draws ranks with P(rank k) ∝ (k+1)^-s for k in [0, n), any s > 0, in constant time and
// memory: rejection-inversion (Hörmann and Derflinger: "Rejection-inversion to generate variates
// from monotone discrete distributions", TOMACS 6, 1996). Beyond 2^53 ranks are rounded to
// doubles.
type zipf struct {
	s         float64
	n         float64
	top       uint64  // n-1
	hFirst    float64 // H(1.5) - h(1)
	hLast     float64 // H(n + 0.5)
	acceptGap float64 // x within this distance below k accepts k at once
}

// nearHarmonic is the distance of the exponent from 1 within which slower functions are used that remain precise there.
const nearHarmonic = 1e-3

func newZipf(s float64, top uint64) zipf {
	z := zipf{s: s, top: top, n: float64(top) + 1}
	z.hFirst = z.area(1.5) - 1
	z.hLast = z.area(z.n + 0.5)
	z.acceptGap = 2 - z.areaInverse(z.area(2.5)-z.density(2))
	return z
}

// density is h(x) = x^-s.
func (z *zipf) density(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// area is H(x) = (x^(1-s) - 1)/(1-s), the integral of h from 1; ln x for s = 1.
func (z *zipf) area(x float64) float64 {
	e := 1 - z.s
	switch {
	case math.Abs(e) > nearHarmonic:
		return (math.Exp(e*math.Log(x)) - 1) / e
	case e != 0:
		return math.Expm1(e*math.Log(x)) / e
	}
	return math.Log(x)
}

func (z *zipf) areaInverse(y float64) float64 {
	e := 1 - z.s
	t := e * y
	switch {
	case t <= -1: // rounding at the far end of s > 1
		return z.n
	case math.Abs(e) > nearHarmonic:
		return math.Exp(math.Log(1+t) / e)
	case e != 0:
		return math.Exp(math.Log1p(t) / e)
	}
	return math.Exp(y)
}

func (z *zipf) draw(r *Rand) uint64 {
	for {
		y := z.hLast + float64(r.Float64()*(z.hFirst-z.hLast))
		x := z.areaInverse(y)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.acceptGap || y >= z.area(k+0.5)-z.density(k) {
			if k >= 0x1p64 {
				return z.top
			}
			return min(uint64(k)-1, z.top)
		}
	}
}

func bucketWeights(buckets []Bucket) []float64 {
	w := make([]float64, len(buckets))
	for i, b := range buckets {
		w[i] = b.Weight
	}
	return w
}

// equalParts reports whether no bucket has a range.
func equalParts(buckets []Bucket) bool {
	for _, b := range buckets {
		if b.Lo != 0 || b.Hi != 0 {
			return false
		}
	}
	return true
}

// checkBuckets checks the properties of buckets that don't depend on the range.
func checkBuckets(buckets []Bucket) *FieldError {
	if len(buckets) == 0 {
		return fault("histogram", "it has no buckets: list at least one with its weight")
	}
	for i, b := range buckets {
		if !isFinite(b.Lo) || !isFinite(b.Hi) || b.Lo > b.Hi {
			return fault("histogram", "bucket %d goes from %v to %v: its start must not exceed its end", i+1, b.Lo, b.Hi)
		}
	}
	if _, err := NewWeighted(bucketWeights(buckets)); err != nil {
		return fault("histogram", "%v", err)
	}
	return nil
}

// rankSpans converts buckets to spans of the ranks 0 to top.
func rankSpans(buckets []Bucket, top uint64, a axis) ([]span, *FieldError) {
	spans := make([]span, len(buckets))
	if equalParts(buckets) {
		k := uint64(len(buckets))
		if k-1 > top {
			return nil, fault("histogram", "%d buckets are more than the range's %d values", k, top+1)
		}
		for i := range spans {
			spans[i] = span{part(uint64(i), k, top), part(uint64(i)+1, k, top) - 1}
		}
		return spans, nil
	}
	for i, b := range buckets {
		first, ok1 := a.rank(b.Lo, true)
		last, ok2 := a.rank(b.Hi, false)
		switch {
		case !ok1 || !ok2 || first > top || last > top:
			return nil, fault("histogram", "bucket %d, from %v to %v, leaves the range: keep it inside", i+1, b.Lo, b.Hi)
		case first > last:
			return nil, fault("histogram", "bucket %d, from %v to %v, holds no value: widen it", i+1, b.Lo, b.Hi)
		}
		spans[i] = span{first, last}
	}
	return spans, nil
}

// part returns ⌊i·n/k⌋ for n = top+1, i ≤ k; 2^64 comes out as 0.
func part(i, k, top uint64) uint64 {
	if i == k {
		return top + 1
	}
	hi, lo := bits.Mul64(i, top)
	lo, carry := bits.Add64(lo, i, 0)
	q, _ := bits.Div64(hi+carry, lo, k)
	return q
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
