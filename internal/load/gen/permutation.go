package gen

import "math/bits"

const (
	feistelRounds = 8
	// smallPermutation is the largest n that is shuffled in a table: Feistel networks over a
	// few bits don't reach all orders equally often.
	smallPermutation = 4096
)

// Permutation is a pseudorandom order of the numbers [0, n). Up to n = 4096 it is a shuffled table (Fisher and Yates).
// Beyond that it is computed instead of stored: a Feistel network over the smallest power of two that holds n, applied
// repeatedly until the result is below n (Black and Rogaway: "Ciphers with arbitrary finite domains", CT-RSA 2002),
// less than two steps on average. It is immutable.
type Permutation struct {
	n        uint64   // 0 means 2^64
	table    []uint16 // if small
	keys     [feistelRounds]uint64
	lowBits  uint
	lowMask  uint64
	highMask uint64
}

// NewPermutation returns the permutation of [0, n) that is determined by a stream; n = 0 means 2^64.
func NewPermutation(stream Stream, n uint64) Permutation {
	r := stream.At(0)
	if n-1 < smallPermutation {
		return shuffled(&r, n)
	}
	width := uint(bits.Len64(n - 1)) // 64 for n = 0
	p := Permutation{n: n, lowBits: (width + 1) / 2}
	p.lowMask = 1<<p.lowBits - 1
	p.highMask = 1<<(width-p.lowBits) - 1
	for i := range p.keys {
		p.keys[i] = r.Uint64()
	}
	return p
}

func shuffled(r *Rand, n uint64) Permutation {
	p := Permutation{n: n, table: make([]uint16, n)}
	for i := range n {
		j := r.Uint64n(i + 1)
		p.table[i] = p.table[j]
		p.table[j] = uint16(i)
	}
	return p
}

// At returns element i of the order. i is taken modulo n; each number of [0, n) is returned for exactly one i in [0,
// n).
func (p *Permutation) At(i uint64) uint64 {
	if p.n == 0 {
		return p.forth(i)
	}
	if i >= p.n {
		i %= p.n
	}
	if p.table != nil {
		return uint64(p.table[i])
	}
	for i = p.forth(i); i >= p.n; {
		i = p.forth(i)
	}
	return i
}

func (p *Permutation) forth(x uint64) uint64 {
	low, high := x&p.lowMask, x>>p.lowBits
	for i := 0; i < feistelRounds; i += 2 {
		low ^= mix(high^p.keys[i]) & p.lowMask
		high ^= mix(low^p.keys[i+1]) & p.highMask
	}
	return high<<p.lowBits | low
}

// mix is the round function: two multiplications by odd constants (those of SplitMix64's
// finalizer), each with its upper half folded into the lower.
func mix(x uint64) uint64 {
	x *= 0xBF58476D1CE4E5B9
	x = (x ^ x>>32) * 0x94D049BB133111EB
	return x ^ x>>32
}
