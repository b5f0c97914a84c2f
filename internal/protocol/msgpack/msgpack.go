// Package msgpack reads MessagePack, and writes it in the form that Tarantool's protocol and its tuple hashes use. The
// format is that of the specification (github.com/msgpack/msgpack, spec.md). Integers take their shortest form, and
// non-negative ones always the unsigned format, because SQL in Tarantool 2.6 reads a non-negative number in a signed
// format as negative.
package msgpack

import (
	"encoding/binary"
	"math"
)

// AppendUint appends a non-negative integer.
func AppendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 0x80:
		return append(dst, byte(n))
	case n <= math.MaxUint8:
		return append(dst, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return append(dst, 0xcd, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n)
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0:
		return AppendUint(dst, uint64(n))
	case n >= -32:
		return append(dst, byte(n))
	case n >= math.MinInt8:
		return append(dst, 0xd0, byte(n))
	case n >= math.MinInt16:
		return append(dst, 0xd1, byte(n>>8), byte(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(n))
}

// AppendFloat appends a 64-bit floating-point number.
func AppendFloat(dst []byte, x float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(x))
}

// AppendStringHeader appends the header of a string of n bytes.
func AppendStringHeader(dst []byte, n int) []byte {
	switch {
	case n < 32:
		return append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		return append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		return append(dst, 0xda, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
}

// AppendString appends a string.
func AppendString(dst []byte, s string) []byte { return append(AppendStringHeader(dst, len(s)), s...) }

// AppendBytes appends binary data.
func AppendBytes(dst, b []byte) []byte {
	switch n := len(b); {
	case n <= math.MaxUint8:
		dst = append(dst, 0xc4, byte(n))
	case n <= math.MaxUint16:
		dst = append(dst, 0xc5, byte(n>>8), byte(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xc6), uint32(n))
	}
	return append(dst, b...)
}

// AppendArray appends the header of an array of n values.
func AppendArray(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, 0x90|byte(n))
	case n <= math.MaxUint16:
		return append(dst, 0xdc, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(n))
}

// AppendMap appends the header of a map of n < 16 pairs.
func AppendMap(dst []byte, n int) []byte { return append(dst, 0x80|byte(n)) }

// AppendExt appends the header of an extension value of n < 256 bytes.
func AppendExt(dst []byte, kind byte, n int) []byte {
	switch n {
	case 1, 2, 4, 8, 16:
		code := byte(0xd4)
		for k := n; k > 1; k >>= 1 {
			code++
		}
		return append(dst, code, kind)
	}
	return append(dst, 0xc7, byte(n), kind)
}
