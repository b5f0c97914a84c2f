package gen

import "math/bits"

// Between returns an integer in [lo, hi], each equally likely; hi must not be below lo.
func (r *Rand) Between(lo, hi int64) int64 { return lo + int64(r.Uint64n(uint64(hi-lo)+1)) }

// NURand returns a non-uniform integer in [lo, hi] (TPC-C 5.11, clause 2.1.6):
//
//	(((random(0, a) | random(lo, hi)) + c) % (hi - lo + 1)) + lo
//
// where both random numbers are uniform and include their bounds, and c is a constant in [0, a].
func (r *Rand) NURand(a, lo, hi, c int64) int64 {
	x := r.Between(0, a)
	y := r.Between(lo, hi)
	return ((x|y)+c)%(hi-lo+1) + lo
}

// AppendFrom appends n characters, each drawn from letters with equal probability. letters has at most 64 characters of
// one byte.
func (r *Rand) AppendFrom(dst []byte, letters string, n int) []byte {
	// A word gives ten characters: multiplied by the number of letters, its upper half is one, and its lower half is what
	// remains for the next. 64^10 is below 2^64, so that the last is less than 2 % more or less likely than the others.
	const aWord = 10
	size := uint64(len(letters))
	for n > 0 {
		w := r.Uint64()
		var at uint64
		for range min(n, aWord) {
			at, w = bits.Mul64(w, size)
			dst = append(dst, letters[at])
		}
		n -= aWord
	}
	return dst
}
