package iproto

import (
	"encoding/binary"
	"math"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/msgpack"
)

// value reads one value into v. Values for which gen has no kind (arrays, maps, unknown extensions) become Bytes
// that hold the encoded value.
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

// ReadExtension sets v to a value of one of Tarantool's MessagePack extensions: a decimal, UUID or time. It
// returns false for others.
func ReadExtension(v *gen.Value, kind byte, b []byte) bool {
	switch kind {
	case msgpack.ExtUUID:
		if len(b) == 16 {
			v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
			return true
		}
	case msgpack.ExtDatetime:
		if len(b) != 8 && len(b) != 16 {
			return false
		}
		v.Kind, v.I = gen.Datetime, int64(binary.LittleEndian.Uint64(b))*1e6
		if len(b) == 16 {
			v.I += int64(int32(binary.LittleEndian.Uint32(b[8:]))) / 1000
		}
		return true
	case msgpack.ExtDecimal:
		return readDecimal(v, b)
	}
	return false
}

// readDecimal returns false for decimals that don't fit: a scale outside 0–255, or more than 18 digits.
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

// convert converts v to kind want if no information is lost, and reports whether it could.
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
