package template

import (
	"encoding/hex"
	"strconv"
	"time"

	"brunt/internal/gen"
)

// AppendValue appends a value as protocols that know only text carry it: numbers in decimal,
// booleans as true and false, times by RFC 3339 in UTC with up to microseconds, UUIDs with
// hyphens, null as nothing, everything else byte by byte.
func AppendValue(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Null:
		return dst
	case gen.Bool:
		return strconv.AppendBool(dst, v.I != 0)
	case gen.Int:
		return strconv.AppendInt(dst, v.I, 10)
	case gen.Uint:
		return strconv.AppendUint(dst, uint64(v.I), 10)
	case gen.Float:
		return strconv.AppendFloat(dst, v.F, 'g', -1, 64)
	case gen.Decimal:
		return appendDecimal(dst, v.I, int(v.Scale))
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, time.RFC3339Nano)
	case gen.UUID:
		if len(v.B) == 16 {
			return appendUUID(dst, v.B)
		}
	}
	return append(dst, v.B...)
}

// SetText makes v a text, or what the text says if kind is a boolean or a kind of number; a text
// that says no such thing makes v null. text may be v's own buffer.
func SetText(v *gen.Value, kind gen.Kind, text []byte) {
	v.SetNull()
	switch kind {
	case gen.Bool:
		if b, err := strconv.ParseBool(string(text)); err == nil {
			v.Kind, v.I = gen.Bool, 0
			if b {
				v.I = 1
			}
		}
	case gen.Int:
		if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			v.SetInt(i)
		}
	case gen.Uint:
		if u, err := strconv.ParseUint(string(text), 10, 64); err == nil {
			v.Kind, v.I = gen.Uint, int64(u)
		}
	case gen.Float:
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			v.Kind, v.F = gen.Float, f
		}
	case gen.Bytes, gen.JSON:
		v.Kind, v.B = kind, append(v.B[:0], text...)
	default:
		v.Kind, v.B = gen.String, append(v.B[:0], text...)
	}
}

// appendDecimal appends unscaled × 10^-scale.
func appendDecimal(dst []byte, unscaled int64, scale int) []byte {
	var space [20]byte
	magnitude := uint64(unscaled)
	if unscaled < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	digits := strconv.AppendUint(space[:0], magnitude, 10)
	whole := len(digits) - scale
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[:whole]...)
		digits = digits[whole:]
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendUUID appends 16 bytes in the form of RFC 9562.
func appendUUID(dst, b []byte) []byte {
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:16]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}
