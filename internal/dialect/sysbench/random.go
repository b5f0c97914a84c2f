package sysbench

import (
	"math"
	"math/bits"
)

// random generates the random numbers of an event. The sequence depends on the seed and on the event's number alone, so
// that it is the same whichever session runs the event. (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014.)
type random struct{ state uint64 }

const golden = 0x9E3779B97F4A7C15

// seeded returns the generator of an event.
func seeded(seed, event uint64) random {
	r := random{seed ^ mix(event+golden)}
	r.state = mix(r.state)
	return r
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *random) next() uint64 {
	r.state += golden
	return mix(r.state)
}

// unit returns a number in [0, 1).
func (r *random) unit() float64 { return float64(r.next()>>11) * 0x1p-53 }

// below returns a number in [0, n), with a bias below n / 2^64.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// uniform returns an integer in [a, b].
func (r *random) uniform(a, b uint32) uint32 {
	return uint32(float64(a) + r.unit()*(float64(b-a)+1))
}

// distribution is a law of ids.
type distribution struct {
	law   law
	iter  int
	pct   float64 // special
	res   float64 // special
	power float64 // pareto
	zipf  zipf
}

type law uint8

const (
	uniformLaw law = iota
	gaussianLaw
	specialLaw
	paretoLaw
	zipfianLaw
)

// laws are the names of --rand-type by version.
func laws(version string) map[string]law {
	all := map[string]law{"uniform": uniformLaw, "gaussian": gaussianLaw, "pareto": paretoLaw}
	if version == Version11 {
		all["zipfian"] = zipfianLaw
	} else {
		all["special"] = specialLaw
	}
	return all
}

// draw returns an integer in [a, b].
func (d *distribution) draw(r *random, a, b uint32) uint32 {
	switch d.law {
	case gaussianLaw:
		return d.gaussian(r, a, b)
	case specialLaw:
		return d.special(r, a, b)
	case paretoLaw:
		return a + uint32((float64(b-a)+1)*math.Pow(r.unit(), d.power))
	case zipfianLaw:
		return a + uint32(d.zipf.draw(r, float64(b-a)+1)) - 1
	}
	return r.uniform(a, b)
}

// gaussian returns the mean of several uniform numbers.
func (d *distribution) gaussian(r *random, a, b uint32) uint32 {
	sum := 0.0
	for range d.iter {
		sum += r.unit()
	}
	return a + uint32(sum*(float64(b-a)+1)/float64(d.iter))
}

// special returns, in res percent of the draws, one of the pct percent of the integers in the middle of the range, each
// equally likely; otherwise a mean of several uniform numbers. One number decides both which of the two it is, and the
// place among the frequent ones, so that of these only the upper res percent are used.
func (d *distribution) special(r *random, a, b uint32) uint32 {
	span := float64(b - a)
	u := r.unit()
	if u*100/(100-d.res) < 1 {
		sum := 0.0
		for range d.iter {
			sum += r.unit()
		}
		return uint32(float64(a) + sum*span/float64(d.iter))
	}
	share := d.pct / 100
	return a + uint32(u*(span*share+1)+span/2-span*share/2)
}

// zipf draws ranks k from 1 to n with probabilities proportional to k^-exponent, by rejection-inversion (Hörmann,
// Derflinger: "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6.3, 1996).
type zipf struct {
	exponent float64
	first    float64 // the lower end of the area
	squeeze  float64
}

func newZipf(exponent float64) zipf {
	z := zipf{exponent: exponent}
	z.first = z.area(1.5) - 1
	z.squeeze = 2 - z.inverse(z.area(2.5)-math.Pow(2, -exponent))
	return z
}

// area is an integral of x^-exponent.
func (z *zipf) area(x float64) float64 {
	l := math.Log(x)
	if t := (1 - z.exponent) * l; math.Abs(t) > 1e-8 {
		return math.Expm1(t) / t * l
	}
	return l
}

// inverse is the inverse function of area.
func (z *zipf) inverse(y float64) float64 {
	if t := max(y*(1-z.exponent), -1); math.Abs(t) > 1e-8 {
		return math.Exp(math.Log1p(t) / t * y)
	}
	return math.Exp(y)
}

func (z *zipf) draw(r *random, n float64) float64 {
	last := z.area(n + 0.5)
	for {
		y := last + r.unit()*(z.first-last)
		x := z.inverse(y)
		k := min(max(math.Floor(x+0.5), 1), n)
		if k-x <= z.squeeze || y >= z.area(k+0.5)-math.Pow(k, -z.exponent) {
			return k
		}
	}
}

// digitGroups appends n groups of 11 random digits, joined by dashes: the values of c (10 groups) and pad (5).
func (r *random) digitGroups(dst []byte, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, '-')
		}
		x := r.below(100_000_000_000)
		var group [11]byte
		for k := 10; k > 0; k -= 2 {
			two := x % 100
			x /= 100
			group[k], group[k-1] = '0'+byte(two%10), '0'+byte(two/10)
		}
		group[0] = '0' + byte(x)
		dst = append(dst, group[:]...)
	}
	return dst
}

const (
	groupsOfC   = 10
	groupsOfPad = 5
)

// unique maps numbers to numbers that look random, one to one in 32 bits. (Preshing: "How to Generate a Sequence of
// Unique Random Integers", 2012.)
type unique struct{ start, offset uint32 }

func newUnique(seed uint64) unique {
	return unique{uint32(mix(seed + 1)), uint32(mix(seed + 2))}
}

func (u unique) at(n uint32) uint32 {
	return residue(residue(u.start+n) + u.offset ^ 0x5bf03635)
}

// residue is a permutation of 32-bit numbers: quadratic residues modulo a prime that is 3 modulo 4.
func residue(x uint32) uint32 {
	const prime = 4294967291
	if x >= prime {
		return x
	}
	square := uint32(uint64(x) * uint64(x) % prime)
	if x <= prime/2 {
		return square
	}
	return prime - square
}
