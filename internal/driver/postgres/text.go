package postgres

import (
	"math"
	"strconv"
	"time"

	"brunt/internal/gen"
)

const hexDigits = "0123456789abcdef"

// appendText appends a value that isn't null as text that the server's input functions and
// people read.
func appendText(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Bool:
		if v.I != 0 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case gen.Int:
		return strconv.AppendInt(dst, v.I, 10)
	case gen.Uint:
		return strconv.AppendUint(dst, uint64(v.I), 10)
	case gen.Float:
		return appendFloatText(dst, v.F)
	case gen.Decimal:
		return appendDecimalText(dst, v.I, int(v.Scale))
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, "2006-01-02 15:04:05.999999Z07:00")
	case gen.UUID:
		if len(v.B) == 16 {
			return appendUUIDText(dst, v.B)
		}
	}
	return append(dst, v.B...)
}

func appendFloatText(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func appendDecimalText(dst []byte, unscaled int64, scale int) []byte {
	var a [20]byte
	magnitude := uint64(unscaled)
	if unscaled < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	digits := strconv.AppendUint(a[:0], magnitude, 10)
	if scale == 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, "0."...)
		for k := len(digits); k < scale; k++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

func appendUUIDText(dst, b []byte) []byte {
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[x>>4], hexDigits[x&15])
	}
	return dst
}

// parseUUID reads 32 hexadecimal digits with any hyphens between them into b.
func parseUUID(b []byte, text []byte) ([]byte, bool) {
	b = b[:0]
	high, half := byte(0), false
	for _, c := range text {
		if c == '-' {
			continue
		}
		d, ok := hexValue(c)
		if !ok {
			return b, false
		}
		if half {
			b = append(b, high<<4|d)
		}
		high, half = d, !half
	}
	return b, len(b) == 16 && !half
}

func hexValue(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// parseInteger reads a decimal integer; ok is false for anything else and on overflow.
func parseInteger(text []byte) (int64, bool) {
	i, scale, ok := parseDecimal(text)
	return i, ok && scale == 0
}

// parseDecimal reads a plain decimal number as unscaled × 10^-scale; ok is false for anything
// else and where an int64 can't hold it.
func parseDecimal(text []byte) (unscaled int64, scale uint8, ok bool) {
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
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-d)/10 {
			return 0, 0, false
		}
		n = n*10 + d
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
