package msgpack

import (
	"encoding/binary"
	"math"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Tarantool's MessagePack extensions (tarantool.io, "MessagePack extensions").
const (
	ExtDecimal  = 1
	ExtUUID     = 2
	ExtDatetime = 4
)

// AppendValue appends a value in the format that Tarantool uses for its kind. JSON is sent as text.
func AppendValue(dst []byte, v *gen.Value) ([]byte, *protocol.Error) {
	switch v.Kind {
	case gen.Null:
		return append(dst, 0xc0), nil
	case gen.Bool:
		return append(dst, 0xc2|byte(v.I&1)), nil
	case gen.Int:
		return AppendInt(dst, v.I), nil
	case gen.Uint:
		return AppendUint(dst, uint64(v.I)), nil
	case gen.Float:
		return AppendFloat(dst, v.F), nil
	case gen.Decimal:
		return appendDecimal(dst, v.I, v.Scale), nil
	case gen.Datetime:
		return appendDatetime(dst, v.I), nil
	case gen.String, gen.JSON, gen.Bytes:
		if len(v.B) > math.MaxInt32 {
			return dst, protocol.Bad("a value of %d bytes is too large for the protocol", len(v.B))
		}
		if v.Kind == gen.Bytes {
			return AppendBytes(dst, v.B), nil
		}
		return append(AppendStringHeader(dst, len(v.B)), v.B...), nil
	case gen.UUID:
		if len(v.B) != 16 {
			return dst, protocol.Bad("a UUID has 16 bytes, not %d", len(v.B))
		}
		return append(AppendExt(dst, ExtUUID, 16), v.B...), nil
	}
	return dst, protocol.Bad("values of kind %d can't be sent", v.Kind)
}

// appendDecimal appends a decimal: the scale, and the digits in packed BCD with the sign in the last half byte (0xc
// plus, 0xd minus).
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
	dst = AppendUint(AppendExt(dst, ExtDecimal, size), uint64(scale))
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

// appendDatetime appends a time in UTC: the seconds and, unless they are zero, the nanoseconds with the time zone.
func appendDatetime(dst []byte, micros int64) []byte {
	seconds, rest := micros/1e6, micros%1e6
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e6
	}
	if rest == 0 {
		return binary.LittleEndian.AppendUint64(AppendExt(dst, ExtDatetime, 8), uint64(seconds))
	}
	dst = binary.LittleEndian.AppendUint64(AppendExt(dst, ExtDatetime, 16), uint64(seconds))
	return append(binary.LittleEndian.AppendUint32(dst, uint32(rest*1000)), 0, 0, 0, 0)
}

// Value reads one value into v. Values for which gen has no kind (arrays, maps, unknown extensions) become Bytes
// that hold the encoded value.
func (r *Reader) Value(v *gen.Value) {
	start := r.At
	f, n := r.Head()
	switch f {
	case Nil:
		v.Kind = gen.Null
	case Bool:
		v.Kind, v.I = gen.Bool, int64(n)
	case Signed:
		v.Kind, v.I = gen.Int, int64(n)
	case Unsigned:
		v.Kind, v.I = gen.Int, int64(n)
		if n > math.MaxInt64 {
			v.Kind = gen.Uint
		}
	case Float:
		v.Kind, v.F = gen.Float, math.Float64frombits(n)
	case String:
		v.Kind, v.B = gen.String, append(v.B[:0], r.Body(n)...)
	case Binary:
		v.Kind, v.B = gen.Bytes, append(v.B[:0], r.Body(n)...)
	case Extension:
		b := r.Body(n + 1)
		if len(b) > 0 && !ReadExtension(v, b[0], b[1:]) {
			v.Kind, v.B = gen.Bytes, append(v.B[:0], b[1:]...)
		}
	case List, Mapping:
		r.At = start
		r.Skip()
		v.Kind, v.B = gen.Bytes, append(v.B[:0], r.B[start:r.At]...)
	}
}

// ReadExtension sets v to a value of one of Tarantool's MessagePack extensions: a decimal, UUID or time. It
// returns false for others.
func ReadExtension(v *gen.Value, kind byte, b []byte) bool {
	switch kind {
	case ExtUUID:
		if len(b) == 16 {
			v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
			return true
		}
	case ExtDatetime:
		if len(b) != 8 && len(b) != 16 {
			return false
		}
		v.Kind, v.I = gen.Datetime, int64(binary.LittleEndian.Uint64(b))*1e6
		if len(b) == 16 {
			v.I += int64(int32(binary.LittleEndian.Uint32(b[8:]))) / 1000
		}
		return true
	case ExtDecimal:
		return readDecimal(v, b)
	}
	return false
}

// readDecimal returns false for decimals that don't fit: a scale outside 0–255, or more than 18 digits.
func readDecimal(v *gen.Value, b []byte) bool {
	r := Reader{B: b}
	f, scale := r.Head()
	digits := b[r.At:]
	if r.Err != Fine || f != Unsigned || scale > math.MaxUint8 || len(digits) == 0 {
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
