package gen

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Stream is an endless sequence of independent sources of random numbers, addressed by index. It is a plain value: it
// is cheap to copy, and two equal streams give the same numbers.
type Stream struct {
	k0, k1 uint64 // the Philox key
}

// NewStream returns the stream for a seed and a path of names, such as a table and a column. Different paths give
// unrelated streams. The key is the first 16 bytes, little endian, of SHA-256 over the seed's 8 little-endian bytes;
// each name then replaces the key by the first 16 bytes of SHA-256 over key and name.
func NewStream(seed uint64, names ...string) Stream {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	return streamOf(sha256.Sum256(b[:])).Sub(names...)
}

// Sub returns the stream further down the path: NewStream(seed, "a").Sub("b") equals
// NewStream(seed, "a", "b").
func (s Stream) Sub(names ...string) Stream {
	for _, name := range names {
		b := make([]byte, 16, 16+len(name))
		binary.LittleEndian.PutUint64(b, s.k0)
		binary.LittleEndian.PutUint64(b[8:], s.k1)
		s = streamOf(sha256.Sum256(append(b, name...)))
	}
	return s
}

func streamOf(sum [sha256.Size]byte) Stream {
	return Stream{
		k0: binary.LittleEndian.Uint64(sum[:]),
		k1: binary.LittleEndian.Uint64(sum[8:]),
	}
}

// At returns the source of random numbers for an index. Its block number b, from 1, is Philox4x64-10 of the counter (b,
// index, 0, 0) under the stream's key.
func (s Stream) At(index uint64) Rand {
	return Rand{k0: s.k0, k1: s.k1, index: index, used: 4}
}

// Uint64 returns the first number of At(index), 64 random bits.
func (s Stream) Uint64(index uint64) uint64 {
	return philoxFirst(index, s.k0, s.k1)
}

// Uint64n returns a number in [0, n), each equally likely; n = 0 means 2^64. It equals the
// first Uint64n(n) of At(index).
func (s Stream) Uint64n(index, n uint64) uint64 {
	w := s.Uint64(index)
	hi, lo := bits.Mul64(w, n)
	switch {
	case n == 0:
		return w
	case lo >= n:
		return hi
	}
	r := s.At(index)
	return r.Uint64n(n)
}

// Float64 returns the first Float64 of At(index), in [0, 1).
func (s Stream) Float64(index uint64) float64 {
	return unit(s.Uint64(index))
}
