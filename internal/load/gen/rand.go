package gen

import (
	"math"
	"math/bits"
)

// Rand generates the random numbers for one index of a Stream, in order. It fits on the caller's stack. Its numbers
// depend only on the stream and the index.
type Rand struct {
	k0, k1 uint64
	index  uint64
	block  uint64
	buf    [4]uint64
	used   uint8 // of buf
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	if r.used > 3 {
		r.block++
		r.buf[0], r.buf[1], r.buf[2], r.buf[3] = philox(r.block, r.index, 0, 0, r.k0, r.k1)
		r.used = 0
	}
	w := r.buf[r.used&3]
	r.used++
	return w
}

// Uint64n returns a number in [0, n), each equally likely; n = 0 means 2^64. (Lemire: "Fast
// random integer generation in an interval", TOMACS 29, 2019.)
func (r *Rand) Uint64n(n uint64) uint64 {
	w := r.Uint64()
	if n == 0 {
		return w
	}
	hi, lo := bits.Mul64(w, n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(r.Uint64(), n)
		}
	}
	return hi
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (r *Rand) Float64() float64 { return unit(r.Uint64()) }

// unit converts the upper 53 bits to a fraction in [0, 1).
func unit(w uint64) float64 { return float64(w>>11) * 0x1p-53 }

// NormFloat64 returns a standard normal number (Marsaglia and Bray's polar method, 1964).
func (r *Rand) NormFloat64() float64 {
	for {
		x := 2*r.Float64() - 1
		y := 2*r.Float64() - 1
		q := float64(x*x) + float64(y*y)
		if q > 0 && q < 1 {
			return x * math.Sqrt(-2*math.Log(q)/q)
		}
	}
}

// ExpFloat64 returns an exponential number with mean 1, by inversion.
func (r *Rand) ExpFloat64() float64 { return -math.Log1p(-r.Float64()) }

// Multipliers and key increments of Philox4x64 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).
const (
	philoxM0 = 0xD2E7470EE14C6C93
	philoxM1 = 0xCA5A826395121157
	philoxW0 = 0x9E3779B97F4A7C15
	philoxW1 = 0xBB67AE8584CAA73B
)

// philox is the block function of Philox4x64-10: 256 random bits for a 256-bit counter under a
// 128-bit key.
func philox(c0, c1, c2, c3, k0, k1 uint64) (uint64, uint64, uint64, uint64) {
	for range 5 { // two rounds each: the words are swapped twice
		hi0, lo0 := bits.Mul64(philoxM0, c0)
		hi1, lo1 := bits.Mul64(philoxM1, c2)
		d0, d2 := hi1^c1^k0, hi0^c3^k1
		hi0, c3 = bits.Mul64(philoxM0, d0)
		hi1, c1 = bits.Mul64(philoxM1, d2)
		c0, c2 = hi1^lo1^(k0+philoxW0), hi0^lo0^(k1+philoxW1)
		k0 += 2 * philoxW0 & (1<<64 - 1)
		k1 += 2 * philoxW1 & (1<<64 - 1)
	}
	return c0, c1, c2, c3
}

// philoxFirst returns the first word of philox for the counter (1, c1, 0, 0). The first round needs no multiplication,
// and the last round computes only one of the four words.
func philoxFirst(c1, k0, k1 uint64) uint64 {
	c0, c1, c2, c3 := c1^k0, uint64(0), k1, uint64(philoxM0)
	for range 4 {
		k0 += philoxW0
		k1 += philoxW1
		hi0, lo0 := bits.Mul64(philoxM0, c0)
		hi1, lo1 := bits.Mul64(philoxM1, c2)
		d0, d2 := hi1^c1^k0, hi0^c3^k1
		k0 += philoxW0
		k1 += philoxW1
		hi0, c3 = bits.Mul64(philoxM0, d0)
		hi1, c1 = bits.Mul64(philoxM1, d2)
		c0, c2 = hi1^lo1^k0, hi0^lo0^k1
	}
	hi1, _ := bits.Mul64(philoxM1, c2)
	return hi1 ^ c1 ^ (k0 + philoxW0)
}

// normalUnit returns a fraction of a range in [0, 1): a standard normal number cut to ±sigmas,
// the range's ends.
func normalUnit(r *Rand, sigmas float64) float64 {
	for {
		var z float64
		if sigmas >= 1 {
			z = r.NormFloat64()
			if !(z >= -sigmas && z < sigmas) {
				continue
			}
		} else { // nearly flat: rejection sampling from the uniform distribution accepts at least 60 %
			z = float64(2*r.Float64()-1) * sigmas
			if r.Float64() > math.Exp(-z*z/2) {
				continue
			}
		}
		if u := z/(2*sigmas) + 0.5; u < 1 {
			return u
		}
	}
}

// exponentialUnit returns a fraction of a range in [0, 1) with density ∝ e^(-rate·x), by
// inversion. mass is 1 - e^-rate.
func exponentialUnit(r *Rand, rate, mass float64) float64 {
	t := float64(r.Float64() * mass)
	x := 0.0
	if rate > 1e-3 {
		x = -math.Log(1-t) / rate // quicker, and as exact as a fraction needs
	} else {
		x = -math.Log1p(-t) / rate
	}
	return min(x, 1-0x1p-53)
}

// spreadUnit maps a fraction in [0, 1) to a rank in [0, top]. For ranges wider than 2^32, the bits that a double lacks
// are taken from r.
func spreadUnit(u float64, top uint64, r *Rand) uint64 {
	if top < 1<<32 {
		return min(uint64(u*float64(top+1)), top)
	}
	w := uint64(u*0x1p52)<<12 | r.Uint64()>>52
	if top == math.MaxUint64 {
		return w
	}
	rank, _ := bits.Mul64(w, top+1)
	return rank
}
