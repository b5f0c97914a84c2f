package gen

import (
	"math"
	"math/bits"
)

// Rand gives the random numbers that belong to one index of a Stream, in order. It lives on the
// caller's stack; its numbers depend on nothing but stream and index.
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

// unit takes the upper 53 bits as a fraction in [0, 1).
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
