package gen

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// ChecksumRow returns a checksum of a row's values in order. Equal rows have equal checksums.
// The checksum of many rows is the sum of theirs modulo 2^64: it doesn't depend on the rows'
// order, and the sums of chunks add up to that of the whole.
//
// It is XXH64 with seed 0 over each value's kind (1 byte) and content: numbers 8 bytes, little
// endian (Decimal without trailing zeros and then its scale, 1 byte; Float by its bits);
// String, Bytes, UUID and JSON their length (8 bytes) and bytes. XXH64's last step mixes well
// enough for sums of it not to cancel by accident.
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
		case String, Bytes, UUID, JSON:
			content = uint64(len(v.B))
		}
		binary.LittleEndian.PutUint64(b[1:], content)
		_, _ = d.Write(b[:n])
		switch v.Kind {
		case String, Bytes, UUID, JSON:
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
