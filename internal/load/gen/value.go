// Package gen generates values as pure functions of (seed, stream, index).
//
// It reads no clock, no environment and no shared state: the same seed gives the same bytes for any number of sessions,
// threads or machines, and the value at any index is computed in constant time and memory.
package gen

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Kind says which field of a Value holds its content.
type Kind uint8

// The kinds of Value.
const (
	Null     Kind = iota // no content
	Bool                 // I is 0 or 1
	Int                  // I, signed 64-bit
	Uint                 // I holds the bits of an unsigned 64-bit integer
	Float                // F
	Decimal              // I × 10^-Scale
	String               // B, UTF-8 text
	Bytes                // B, raw bytes
	Datetime             // I, microseconds since the Unix epoch, UTC
	UUID                 // B, 16 raw bytes in network order
	JSON                 // B, UTF-8 JSON text
	Number               // B, the text of a decimal number that Decimal can't hold; of answers only
	Packed               // B, as the server that returned it encodes it, for which there is no kind; of answers only
)

// Value is one generated value. It owns its buffer B and reuses it: a generator that writes
// into a Value that has been used before allocates nothing. A Value must therefore not be
// copied and kept; use Clone.
type Value struct {
	Kind  Kind
	Scale uint8   // digits after the point; Decimal only
	I     int64   // Bool, Int, Uint (bits), Decimal (unscaled), Datetime (µs)
	F     float64 // Float
	B     []byte  // String, Bytes, UUID, JSON, Number, Packed
}

// Generator generates value number index of its stream. Value overwrites *v, reusing v.B, and must be pure: two calls
// with the same index give the same content. Implementations are safe for concurrent use because they have no mutable
// state.
type Generator interface {
	Value(v *Value, index uint64)
}

// Func adapts a function to Generator.
type Func func(v *Value, index uint64)

// Value calls f.
func (f Func) Value(v *Value, index uint64) { f(v, index) }

var _ Generator = Func(nil)

// Clone returns a copy of v that shares no memory with it.
func (v *Value) Clone() Value {
	c := *v
	if v.B != nil {
		c.B = append([]byte(nil), v.B...)
	}
	return c
}

// Set makes v equal to from, reusing v's buffer.
func (v *Value) Set(from *Value) {
	b := v.B
	*v = *from
	v.B = append(b[:0], from.B...)
}

// SetNull makes v the null value.
func (v *Value) SetNull() { v.Kind = Null }

// SetInt makes v a signed integer.
func (v *Value) SetInt(i int64) { v.Kind, v.I = Int, i }

// SetString makes v a text, copying s into v's buffer.
func (v *Value) SetString(s string) { v.Kind, v.B = String, append(v.B[:0], s...) }

// ChecksumRow returns a checksum of a row's values in order. Equal rows have equal checksums. The checksum of many rows
// is the sum of their checksums modulo 2^64: it doesn't depend on the order of the rows, and can be computed in chunks.
//
// It is XXH64 with seed 0 over each value's kind (1 byte) and content: numbers as 8 bytes, little endian (Decimal
// without trailing zeros and followed by its scale, 1 byte; Float by its bits); String, Bytes, UUID and JSON as their
// length (8 bytes) and bytes. The final mixing step of XXH64 is good enough that sums of checksums don't cancel out by
// accident.
func ChecksumRow(values []Value) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(0)
	var b [10]byte
	for i := range values {
		v := &values[i]
		n := 9
		b[0] = byte(v.Kind)
		content := uint64(v.I)
		switch v.Kind {
		case Null:
			n = 1
		case Float:
			content = floatBits(v.F)
		case Decimal:
			unscaled, scale := lowestTerms(v.I, v.Scale)
			content, b[9], n = uint64(unscaled), scale, 10
		case String, Bytes, UUID, JSON, Number, Packed:
			content = uint64(len(v.B))
		}
		binary.LittleEndian.PutUint64(b[1:], content)
		_, _ = d.Write(b[:n])
		switch v.Kind {
		case String, Bytes, UUID, JSON, Number, Packed:
			_, _ = d.Write(v.B)
		}
	}
	return d.Sum64()
}

// floatBits returns a float's bits, one pattern for both zeros and one for all NaNs.
func floatBits(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// lowestTerms drops trailing zeros after the point.
func lowestTerms(i int64, scale uint8) (int64, uint8) {
	for scale > 0 && i%10 == 0 {
		i, scale = i/10, scale-1
	}
	return i, scale
}
