package script

import "math"

// The functions here round correctly, but for arguments so close to the middle between two doubles that a hundred bits
// don't tell. pgbench uses its C library, whose functions are off by at most a few hundredths of a unit in the last
// place more, so that results differ very rarely; Go's functions are less precise.

// twofold is the unevaluated sum of two doubles, the second of which is at most half a unit in the last place of the
// first (Dekker, A floating-point technique for extending the available precision, 1971).
type twofold struct{ hi, lo float64 }

// sumOf returns a+b exactly.
func sumOf(a, b float64) twofold {
	s := a + b
	t := s - a
	return twofold{hi: s, lo: (a - (s - t)) + (b - t)}
}

// productOf returns a·b exactly.
func productOf(a, b float64) twofold {
	p := float64(a * b)
	return twofold{hi: p, lo: math.FMA(a, b, -p)}
}

func (a twofold) add(b twofold) twofold {
	s, t := sumOf(a.hi, b.hi), sumOf(a.lo, b.lo)
	s = sumOf(s.hi, s.lo+t.hi)
	return sumOf(s.hi, s.lo+t.lo)
}

func (a twofold) mul(b twofold) twofold {
	p := productOf(a.hi, b.hi)
	return sumOf(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a twofold) mulDouble(b float64) twofold {
	p := productOf(a.hi, b)
	return sumOf(p.hi, p.lo+float64(a.lo*b))
}

// divDouble returns a/b.
func (a twofold) divDouble(b float64) twofold {
	q := a.hi / b
	p := productOf(q, b)
	return sumOf(q, ((a.hi-p.hi)-p.lo+a.lo)/b)
}

func (a twofold) neg() twofold { return twofold{-a.hi, -a.lo} }

// Constants in three doubles of descending size.
var (
	ln2    = [...]float64{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111}
	halfPi = [...]float64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}
)

// less returns x − k·c for a constant c of three doubles and a small integer k.
func (x twofold) less(k float64, c *[3]float64) twofold {
	for _, part := range c {
		x = x.add(productOf(-k, part))
	}
	return x
}

// expOf returns e^x as y·2^exponent.
func expOf(x twofold) (y twofold, exponent int) {
	k := math.RoundToEven(x.hi / math.Ln2)
	r := x.less(k, &ln2)
	// e^r − 1 for r/512 by its series, then (1+t)² − 1 = 2t + t² nine times.
	const halvings = 9
	r = twofold{math.Ldexp(r.hi, -halvings), math.Ldexp(r.lo, -halvings)}
	t := twofold{}
	for n := 9.0; n >= 1; n-- {
		t = t.add(twofold{hi: 1}).mul(r).divDouble(n)
	}
	for range halvings {
		t = twofold{2 * t.hi, 2 * t.lo}.add(t.mul(t))
	}
	return t.add(twofold{hi: 1}), int(k)
}

// lnOf returns the logarithm of x, which is positive and finite.
func lnOf(x float64) twofold {
	if d := x - 1; math.Abs(d) < 0x1p-10 {
		// d is exact. The series of ln(1+d) = d·(1 − d·(1/2 − d·(1/3 − …))).
		sum := twofold{}
		for n := 12.0; n >= 1; n-- {
			sum = twofold{hi: 1}.divDouble(n).add(sum.mulDouble(d).neg())
		}
		return sum.mulDouble(d)
	}
	// One step of Newton's method: y + x·e^−y − 1. The rest is below the square of Go's error.
	fraction, scale := math.Frexp(x)
	y := math.Log(fraction)
	e, exponent := expOf(twofold{hi: -y})
	e = twofold{math.Ldexp(e.hi, exponent), math.Ldexp(e.lo, exponent)}
	t := e.mulDouble(fraction).add(twofold{hi: -1})
	return twofold{hi: y}.add(t).less(-float64(scale), &ln2)
}

// exp returns e^x.
func exp(x float64) float64 {
	if math.IsNaN(x) || x > 710 || x < -746 {
		return math.Exp(x)
	}
	y, exponent := expOf(twofold{hi: x})
	return math.Ldexp(y.hi+y.lo, exponent)
}

// ln returns the natural logarithm of x.
func ln(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return math.Log(x)
	}
	y := lnOf(x)
	return y.hi + y.lo
}

// pow returns x^y.
func pow(x, y float64) float64 {
	special := math.Pow(x, y)
	if math.IsNaN(special) || special == 0 || math.IsInf(special, 0) || x == 0 || x == 1 || y == 0 ||
		math.IsInf(y, 0) {
		return special
	}
	e, exponent := expOf(lnOf(math.Abs(x)).mulDouble(y))
	return math.Copysign(math.Ldexp(e.hi+e.lo, exponent), special)
}

// sin returns the sine of x, which is at most 7.
func sin(x float64) float64 {
	k := math.RoundToEven(x / (math.Pi / 2))
	r := twofold{hi: x}.less(k, &halfPi)
	// The series of the sine or of the cosine.
	first := 1.0
	if int(k)&1 == 0 {
		first = 2
	}
	square := r.mul(r).neg()
	sum := twofold{hi: 1}
	for n := 28 + first - 1; n > first; n -= 2 {
		sum = sum.mul(square).divDouble(n * (n - 1)).add(twofold{hi: 1})
	}
	if first == 2 {
		sum = sum.mul(r)
	}
	if int(k)&2 != 0 {
		sum = sum.neg()
	}
	return sum.hi + sum.lo
}
