package iproto

import (
	"encoding/binary"
	"math"
	"strconv"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// Tarantool's MessagePack extensions (tarantool.io, "MessagePack extensions").
const (
	extDecimal  = 1
	extUUID     = 2
	extDatetime = 4
)

// AppendValue writes a value in the format that Tarantool has for its kind; JSON is sent as text.
func AppendValue(dst []byte, v *gen.Value) ([]byte, *protocol.Error) {
	switch v.Kind {
	case gen.Null:
		return append(dst, 0xc0), nil
	case gen.Bool:
		return append(dst, 0xc2|byte(v.I&1)), nil
	case gen.Int:
		return appendInt(dst, v.I), nil
	case gen.Uint:
		return appendUint(dst, uint64(v.I)), nil
	case gen.Float:
		return appendFloat(dst, v.F), nil
	case gen.Decimal:
		return appendDecimal(dst, v.I, v.Scale), nil
	case gen.Datetime:
		return appendDatetime(dst, v.I), nil
	case gen.String, gen.JSON, gen.Bytes:
		if len(v.B) > math.MaxInt32 {
			return dst, protocol.Bad("a value of %d bytes is too large for the protocol", len(v.B))
		}
		if v.Kind == gen.Bytes {
			return appendBytes(dst, v.B), nil
		}
		return append(appendStringHeader(dst, len(v.B)), v.B...), nil
	case gen.UUID:
		if len(v.B) != 16 {
			return dst, protocol.Bad("a UUID has 16 bytes, not %d", len(v.B))
		}
		return append(appendExt(dst, extUUID, 16), v.B...), nil
	}
	return dst, protocol.Bad("values of kind %d can't be sent", v.Kind)
}

// appendDecimal writes the scale and the digits in packed BCD with the sign in the last half byte
// (0xc plus, 0xd minus).
func appendDecimal(dst []byte, unscaled int64, scale uint8) []byte {
	var space [20]byte
	magnitude, sign := uint64(unscaled), byte(0x0c)
	if unscaled < 0 {
		magnitude, sign = -magnitude, 0x0d
	}
	digits := strconv.AppendUint(space[:0], magnitude, 10)
	size := 1 + len(digits)/2 + 1
	if scale >= 0x80 {
		size++
	}
	dst = appendUint(appendExt(dst, extDecimal, size), uint64(scale))
	half := byte(0)
	odd := len(digits)%2 == 0 // a leading zero fills the first byte
	for _, d := range digits {
		if odd {
			dst = append(dst, half<<4|(d-'0'))
		} else {
			half = d - '0'
		}
		odd = !odd
	}
	return append(dst, half<<4|sign)
}

// appendDatetime writes seconds and, unless they are zero, nanoseconds with the time zone UTC.
func appendDatetime(dst []byte, micros int64) []byte {
	seconds, rest := micros/1e6, micros%1e6
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e6
	}
	if rest == 0 {
		return binary.LittleEndian.AppendUint64(appendExt(dst, extDatetime, 8), uint64(seconds))
	}
	dst = binary.LittleEndian.AppendUint64(appendExt(dst, extDatetime, 16), uint64(seconds))
	return append(binary.LittleEndian.AppendUint32(dst, uint32(rest*1000)), 0, 0, 0, 0)
}

// value reads one value into v. What gen has no kind for (arrays, maps, unknown extensions)
// becomes Bytes, as it stands.
func (r *reader) value(v *gen.Value) {
	start := r.at
	f, n := r.head()
	switch f {
	case null:
		v.Kind = gen.Null
	case boolean:
		v.Kind, v.I = gen.Bool, int64(n)
	case signed:
		v.Kind, v.I = gen.Int, int64(n)
	case unsigned:
		v.Kind, v.I = gen.Int, int64(n)
		if n > math.MaxInt64 {
			v.Kind = gen.Uint
		}
	case float:
		v.Kind, v.F = gen.Float, math.Float64frombits(n)
	case str:
		v.Kind, v.B = gen.String, append(v.B[:0], r.body(n)...)
	case binaryData:
		v.Kind, v.B = gen.Bytes, append(v.B[:0], r.body(n)...)
	case ext:
		b := r.body(n + 1)
		if len(b) > 0 && !ReadExtension(v, b[0], b[1:]) {
			v.Kind, v.B = gen.Bytes, append(v.B[:0], b[1:]...)
		}
	case array, mapping:
		r.at = start
		r.skip()
		v.Kind, v.B = gen.Bytes, append(v.B[:0], r.b[start:r.at]...)
	}
}

// ReadExtension sets v to a value of one of Tarantool's MessagePack extensions: a decimal, UUID or time.
// It reports false for others.
func ReadExtension(v *gen.Value, kind byte, b []byte) bool {
	switch kind {
	case extUUID:
		if len(b) == 16 {
			v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
			return true
		}
	case extDatetime:
		if len(b) != 8 && len(b) != 16 {
			return false
		}
		v.Kind, v.I = gen.Datetime, int64(binary.LittleEndian.Uint64(b))*1e6
		if len(b) == 16 {
			v.I += int64(int32(binary.LittleEndian.Uint32(b[8:]))) / 1000
		}
		return true
	case extDecimal:
		return readDecimal(v, b)
	}
	return false
}

// readDecimal fails for numbers that don't fit: a scale outside 0–255, or digits beyond 18.
func readDecimal(v *gen.Value, b []byte) bool {
	r := reader{b: b}
	f, scale := r.head()
	digits := b[r.at:]
	if r.readError != fine || f != unsigned || scale > math.MaxUint8 || len(digits) == 0 {
		return false
	}
	n := int64(0)
	for i, c := range digits {
		for k, d := range [2]byte{c >> 4, c & 15} {
			if last := i == len(digits)-1 && k == 1; last {
				if d == 0x0d || d == 0x0b {
					n = -n
				}
				break
			}
			if d > 9 || n > (math.MaxInt64-9)/10 {
				return false
			}
			n = n*10 + int64(d)
		}
	}
	v.Kind, v.I, v.Scale = gen.Decimal, n, uint8(scale)
	return true
}

// convert changes v to the kind wanted where that loses nothing, and reports whether it could.
func convert(v *gen.Value, want gen.Kind) bool {
	if want == gen.Null || v.Kind == want || v.Kind == gen.Null {
		return true
	}
	switch {
	case want == gen.Uint && v.Kind == gen.Int && v.I >= 0:
	case want == gen.Datetime && v.Kind == gen.Int: // Tarantool's SQL: µs since the epoch
	case want == gen.Decimal && v.Kind == gen.Int:
		v.Scale = 0
	case want == gen.Float && v.Kind == gen.Int:
		v.F = float64(v.I)
	case want == gen.Float && v.Kind == gen.Decimal:
		v.F = float64(v.I) / math.Pow10(int(v.Scale))
	case want == gen.Int && v.Kind == gen.Float && v.F == math.Trunc(v.F) && math.Abs(v.F) < 1<<63:
		v.I = int64(v.F)
	case (want == gen.String || want == gen.Bytes || want == gen.JSON) &&
		(v.Kind == gen.String || v.Kind == gen.Bytes || v.Kind == gen.JSON):
	default:
		return false
	}
	v.Kind = want
	return true
}
