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

// exponential returns a number of [low, high]. The probability of the last one is exp(−parameter) of the first one's.
func (p *prng) exponential(low, high int64, parameter float64) int64 {
	cut := exp(-parameter)
	u := 1 - p.double()
	x := -ln(cut+float64((1-cut)*u)) / parameter
	return low + int64(float64(high-low+1)*x)
}

// gaussian returns a number of [low, high], the middle ones more often (Box and Muller's transform).
func (p *prng) gaussian(low, high int64, parameter float64) int64 {
	var z float64
	for {
		u, v := 1-p.double(), 1-p.double()
		z = math.Sqrt(-2*ln(u)) * sin(2*math.Pi*v)
		if z >= -parameter && z < parameter {
			break
		}
	}
	x := (z + parameter) / (parameter * 2)
	return low + int64(float64(high-low+1)*x)
}

// zipfian returns a number of [low, high], the first ones more often (Devroye, Non-Uniform Random Variate Generation,
// 1986, page 551).
func (p *prng) zipfian(low, high int64, s float64) int64 {
	n := high - low + 1
	if n <= 1 {
		return low
	}
	b := pow(2, s-1)
	for {
		u, v := p.double(), p.double()
		x := math.Floor(pow(u, -1/(s-1)))
		t := pow(1+1/x, s-1)
		if v*x*(t-1)/(b-1) <= t/b && x <= float64(n) {
			return low - 1 + int64(x)
		}
	}
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
