package script

import (
	"math"
	"math/bits"
)

// prng is xoroshiro128** (Blackman and Vigna, https://prng.di.unimi.it), seeded by two outputs of splitmix64, as in
// PostgreSQL's src/common/pg_prng.c.
type prng struct{ s0, s1 uint64 }

// newPRNG returns the generator for a seed.
func newPRNG(seed uint64) prng {
	next := func() uint64 {
		seed += 0x9e3779b97f4a7c15
		v := seed
		v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
		v = (v ^ v>>27) * 0x94d049bb133111eb
		return v ^ v>>31
	}
	p := prng{s0: next(), s1: next()}
	if p == (prng{}) {
		p = prng{s0: 0x5851f42d4c957f2d, s1: 0x14057b7ef767814f}
	}
	return p
}

func (p *prng) next() uint64 {
	s0, x := p.s0, p.s1^p.s0
	v := bits.RotateLeft64(s0*5, 7) * 9
	p.s0 = bits.RotateLeft64(s0, 24) ^ x ^ x<<16
	p.s1 = bits.RotateLeft64(x, 37)
	return v
}

// upTo returns a number of [0, last]. It draws nothing if there is only one.
func (p *prng) upTo(last uint64) uint64 {
	if last == 0 {
		return 0
	}
	shift := bits.LeadingZeros64(last)
	for {
		if v := p.next() >> shift; v <= last {
			return v
		}
	}
}

// double returns a number of [0, 1).
func (p *prng) double() float64 { return math.Ldexp(float64(p.next()>>12), -52) }

// uniform returns a number of [low, high].
func (p *prng) uniform(low, high int64) int64 { return low + int64(p.upTo(uint64(high-low))) }

// The random functions are computed with Go's quick functions first. Where their error could change the integer that
// comes out, they are computed once more with precise ones; see precise.go.

// quickError bounds the relative error of Go's exp, log, pow and sin, and what becomes of it in the formulas here.
const quickError = 1e-12

// whole returns the integer part of x, which isn't negative; ok is false if an error of x could change it.
func whole(x, margin float64) (i float64, ok bool) {
	i = math.Floor(x)
	return i, x-margin >= i && x+margin < i+1
}

// functions are the functions that a formula is computed with.
type functions struct {
	exp, ln, sin func(float64) float64
	pow          func(x, y float64) float64
}

var (
	quick = functions{exp: math.Exp, ln: math.Log, sin: math.Sin, pow: math.Pow}
	exact = functions{exp: exp, ln: ln, sin: sin, pow: pow}
)

// exponential returns a number of [low, high]. The probability of the last one is exp(−parameter) of the first one's.
func (p *prng) exponential(low, high int64, parameter float64) int64 {
	n, u := float64(high-low+1), 1-p.double()
	x := n * quick.exponential(u, parameter)
	i, ok := whole(x, (n/parameter+x)*quickError)
	if !ok {
		i = float64(n * exact.exponential(u, parameter))
	}
	return low + int64(i)
}

func (f *functions) exponential(u, parameter float64) float64 {
	cut := f.exp(-parameter)
	return -f.ln(cut+float64((1-cut)*u)) / parameter
}

// gaussian returns a number of [low, high], the middle ones more often (Box and Muller's transform).
func (p *prng) gaussian(low, high int64, parameter float64) int64 {
	n := float64(high - low + 1)
	for {
		u, v := 1-p.double(), 1-p.double()
		z := quick.normal(u, v)
		x := n * ((z + parameter) / (parameter * 2))
		i, ok := whole(x, n*quickError)
		if !ok || math.Abs(math.Abs(z)-parameter) < quickError {
			z = exact.normal(u, v)
			i = float64(n * ((z + parameter) / (parameter * 2)))
		}
		if z >= -parameter && z < parameter {
			return low + int64(i)
		}
	}
}

func (f *functions) normal(u, v float64) float64 { return math.Sqrt(-2*f.ln(u)) * f.sin(2*math.Pi*v) }

// zipfian returns a number of [low, high], the first ones more often (Devroye, Non-Uniform Random Variate Generation,
// 1986, page 551).
func (p *prng) zipfian(low, high int64, s float64) int64 {
	n := high - low + 1
	if n <= 1 {
		return low
	}
	for {
		u, v := p.double(), p.double()
		x, accepted := zipfianOf(u, v, s)
		if accepted && x <= float64(n) {
			return low - 1 + int64(x)
		}
	}
}

// zipfianOf returns a candidate and whether it is accepted if it is in range.
func zipfianOf(u, v, s float64) (x float64, accepted bool) {
	power := quick.pow(u, -1/(s-1))
	x, ok := whole(power, power*quickError)
	if ok {
		b, t := quick.pow(2, s-1), quick.pow(1+1/x, s-1)
		left, right := v*x*(t-1)/(b-1), t/b
		if math.Abs(left-right) > quickError*(v*x*t*b/((b-1)*(b-1))+right) {
			return x, left <= right
		}
	}
	x = math.Floor(exact.pow(u, -1/(s-1)))
	b, t := exact.pow(2, s-1), exact.pow(1+1/x, s-1)
	return x, float64(v*x*(t-1))/(b-1) <= t/b
}

const (
	fnvBasis    = 0xcbf29ce484222325
	fnvPrime    = 0x100000001b3
	murmurFirst = 0x35253c9ade8f4ca8 // 8 × murmurMul
	murmurMul   = 0xc6a4a7935bd1e995
	murmurShift = 47
)

// hashFNV1a is FNV-1a of the eight bytes of v, the lowest first.
func hashFNV1a(v, seed int64) int64 {
	r := uint64(fnvBasis) ^ uint64(seed)
	for i := range 8 {
		r = (r ^ uint64(v)>>(8*i)&0xff) * fnvPrime
	}
	return int64(r)
}

// hashMurmur2 is MurmurHash64A of one word.
func hashMurmur2(v, seed int64) int64 {
	r := uint64(seed) ^ murmurFirst
	k := uint64(v) * murmurMul
	k ^= k >> murmurShift
	k *= murmurMul
	r = (r ^ k) * murmurMul
	r = (r ^ r>>murmurShift) * murmurMul
	return int64(r ^ r>>murmurShift)
}

// permute returns where number v of [0, size) is in the permutation that the seed stands for.
func permute(v, size, seed int64) int64 {
	if size < 2 {
		return 0
	}
	p := newPRNG(uint64(seed))
	n := uint64(size)
	x := uint64(v) % n
	width := bits.Len64(n) - 1
	mask := uint64(1)<<width - 1
	mix := func(x uint64) uint64 {
		m := p.next()&mask | 1
		r := p.next() & mask
		if x > mask {
			return x
		}
		x = (x*m ^ r) & mask
		return x<<1&mask | x>>(width-1)
	}
	for range 6 {
		x = mix(x)
		x = n - 1 - mix(n-1-x)
		x = (x + p.upTo(n-1)) % n
	}
	return int64(x)
}
