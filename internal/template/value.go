package template

import (
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
	case gen.String, gen.JSON, gen.Bytes:
		return append(dst, v.B...)
	case gen.Float:
		return strconv.AppendFloat(dst, v.F, 'g', -1, 64)
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, time.RFC3339Nano)
	}
	return v.AppendText(dst)
}

// SetText makes v a text, or what the text says if kind is a boolean or a kind of number; a text
// that says no such thing makes v null. text may be v's own buffer.
func SetText(v *gen.Value, kind gen.Kind, text []byte) {
	v.SetNull()
	switch kind {
	case gen.Bool:
		if b, err := strconv.ParseBool(string(text)); err == nil {
			v.SetAny(b)
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
