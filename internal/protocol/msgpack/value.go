package msgpack

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Tarantool's MessagePack extensions (tarantool.io, "MessagePack extensions").
const (
	ExtDecimal  = 1
	ExtUUID     = 2
	ExtError    = 3
	ExtDatetime = 4
	ExtInterval = 6
)

// AppendValue appends a value in the format that Tarantool uses for its kind. JSON is sent as text, and a Packed value
// as it came.
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
	case gen.Number:
		return appendNumber(dst, v.B)
	case gen.Packed:
		return append(dst, v.B...), nil
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

// appendDecimal appends a decimal.
func appendDecimal(dst []byte, unscaled int64, scale uint8) []byte {
	var space [20]byte
	magnitude := uint64(unscaled)
	if unscaled < 0 {
		magnitude = -magnitude
	}
	return appendDigits(dst, unscaled < 0, strconv.AppendUint(space[:0], magnitude, 10), int(scale))
}

// mostDigits is the greatest number of digits of Tarantool's decimals.
const mostDigits = 38

// appendNumber appends the decimal that a text of digits stands for.
func appendNumber(dst, text []byte) ([]byte, *protocol.Error) {
	rest, negative := bytes.CutPrefix(text, []byte("-"))
	if !negative {
		rest, _ = bytes.CutPrefix(text, []byte("+"))
	}
	whole, fraction, _ := bytes.Cut(rest, []byte("."))
	scale := len(fraction)
	digits := bytes.TrimLeft(slices.Concat(whole, fraction), "0")
	for len(digits) > mostDigits && digits[len(digits)-1] == '0' {
		digits, scale = digits[:len(digits)-1], scale-1
	}
	if len(digits) == 0 {
		digits = []byte("0")
	}
	if len(digits) > mostDigits || len(rest) == 0 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return dst, protocol.Bad("a number of %d digits can't be sent: Tarantool's decimals have at most %d", len(digits),
			mostDigits)
	}
	return appendDigits(dst, negative, digits, scale), nil
}

// appendDigits appends a decimal: the scale, and the digits in packed BCD with the sign in the last half byte (0xc
// plus, 0xd minus).
func appendDigits(dst []byte, negative bool, digits []byte, scale int) []byte {
	sign := byte(0x0c)
	if negative {
		sign = 0x0d
	}
	var space [9]byte
	head := AppendInt(space[:0], int64(scale))
	dst = append(AppendExt(dst, ExtDecimal, len(head)+len(digits)/2+1), head...)
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

// Value reads one value into v. Values for which gen has no kind become Packed, which holds their encoding: arrays,
// maps, times with a zone or nanoseconds, intervals, errors and unknown extensions.
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
		if b := r.Body(n + 1); len(b) > 0 && !exactExtension(v, b[0], b[1:]) {
			v.Kind, v.B = gen.Packed, append(v.B[:0], r.B[start:r.At]...)
		}
	case List, Mapping:
		r.At = start
		r.Skip()
		v.Kind, v.B = gen.Packed, append(v.B[:0], r.B[start:r.At]...)
	}
}
