package gen

import "math"

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

// nearHarmonic is how near 1 an exponent must be for the slower functions that keep their
// precision there.
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
