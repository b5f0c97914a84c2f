package gen

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"time"
)

// Any returns the value in the form that client libraries accept: nil, bool, int64, uint64, float64, string (Decimal in
// plain digits, String, JSON, Number), []byte (Bytes, Packed; shares v.B), time.Time in UTC, or [16]byte.
func (v *Value) Any() any {
	switch v.Kind {
	case Bool:
		return v.I != 0
	case Int:
		return v.I
	case Uint:
		return uint64(v.I)
	case Float:
		return v.F
	case Decimal:
		return string(AppendDecimal(nil, v.I, v.Scale))
	case String, JSON, Number:
		return string(v.B)
	case Bytes, Packed:
		if v.B == nil { // libraries take it for null
			return []byte{}
		}
		return v.B
	case Datetime:
		return time.UnixMicro(v.I).UTC()
	case UUID:
		var u [16]byte
		copy(u[:], v.B)
		return u
	}
	return nil
}

// SetAny sets v to a Go nil, bool, int, int64, uint64, float64, string, []byte, time.Time (truncated to µs) or [16]byte
// (a UUID). It reports whether x has one of these types; otherwise v becomes null.
func (v *Value) SetAny(x any) bool {
	switch x := x.(type) {
	case nil:
		v.SetNull()
	case bool:
		v.Kind, v.I = Bool, int64(b2u(x))
	case int:
		v.SetInt(int64(x))
	case int64:
		v.SetInt(x)
	case uint64:
		v.Kind, v.I = Uint, int64(x)
	case float64:
		v.Kind, v.F = Float, x
	case string:
		v.SetString(x)
	case []byte:
		v.Kind, v.B = Bytes, append(v.B[:0], x...)
	case time.Time:
		v.Kind, v.I = Datetime, x.UnixMicro()
	case [16]byte:
		v.Kind, v.B = UUID, append(v.B[:0], x[:]...)
	default:
		v.SetNull()
		return false
	}
	return true
}

// AppendText appends the value's text to dst: NULL, true and false, numbers in decimal (Float as the shortest text that
// parses to the same number; NaN, Infinity and -Infinity as in PostgreSQL), String, JSON and Number unchanged, Bytes
// and Packed in lower-case hex, Datetime in RFC 3339 with 6 digits of seconds and Z, UUID in its 36 characters.
func (v *Value) AppendText(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.I != 0)
	case Int:
		return appendInt(dst, v.I)
	case Uint:
		return appendUint(dst, uint64(v.I))
	case Float:
		return appendFloat(dst, v.F)
	case Decimal:
		return AppendDecimal(dst, v.I, v.Scale)
	case String, JSON, Number:
		return append(dst, v.B...)
	case Bytes, Packed:
		return hex.AppendEncode(dst, v.B)
	case Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	case UUID:
		return AppendUUID(dst, v.B)
	}
	return append(dst, "NULL"...)
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// AppendDecimal appends i × 10^-scale with scale digits after the point.
func AppendDecimal(dst []byte, i int64, scale uint8) []byte {
	u := uint64(i)
	if i < 0 {
		dst, u = append(dst, '-'), -u
	}
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], u, 10)
	whole := len(d) - int(scale)
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, d[:whole]...)
		d = d[whole:]
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// AppendUUID appends 16 bytes as 8-4-4-4-12 hex digits; other lengths as plain hex.
func AppendUUID(dst, b []byte) []byte {
	if len(b) != 16 {
		return hex.AppendEncode(dst, b)
	}
	dst = append(hex.AppendEncode(dst, b[:4]), '-')
	dst = append(hex.AppendEncode(dst, b[4:6]), '-')
	dst = append(hex.AppendEncode(dst, b[6:8]), '-')
	dst = append(hex.AppendEncode(dst, b[8:10]), '-')
	return hex.AppendEncode(dst, b[10:])
}

// ParseDecimal parses a plain decimal number as unscaled × 10^-scale; ok is false for other texts and if an int64 can't
// hold unscaled.
func ParseDecimal(text []byte) (unscaled int64, scale uint8, ok bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	point, digits := -1, 0
	var n uint64
	for i, c := range text {
		if c == '.' && point < 0 {
			point = i
			continue
		}
		if c < '0' || c > '9' || n > (math.MaxUint64-9)/10 {
			return 0, 0, false
		}
		n = n*10 + uint64(c-'0')
		digits++
	}
	if point >= 0 {
		if len(text)-point-1 > math.MaxUint8 {
			return 0, 0, false
		}
		scale = uint8(len(text) - point - 1)
	}
	switch {
	case digits == 0, !negative && n > math.MaxInt64, n > 1<<63:
		return 0, 0, false
	case negative:
		return -int64(n), scale, true
	}
	return int64(n), scale, true
}

// ParseInteger parses a decimal integer; ok is false for other texts and on overflow.
func ParseInteger(text []byte) (i int64, ok bool) {
	i, scale, ok := ParseDecimal(text)
	return i, ok && scale == 0
}

// ParseTime parses a date or time in one of the usual formats of servers and users. Without a zone it is UTC.
func ParseTime(text string) (t time.Time, ok bool) {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
		"2006-01-02 15:04:05.999999999 -0700 MST",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ParseUUID appends the 16 bytes of 32 hexadecimal digits to dst, ignoring hyphens; ok is false if there are other
// characters or another number of digits.
func ParseUUID(dst, text []byte) (out []byte, ok bool) {
	out, err := hex.AppendDecode(dst, bytes.ReplaceAll(text, []byte("-"), nil))
	return out, err == nil && len(out) == len(dst)+16
}
