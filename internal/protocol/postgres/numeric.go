package postgres

import (
	"encoding/binary"
	"math"
	"strconv"

	"brunt/internal/load/gen"
)

// The sign codes in the binary form of numeric (numeric_send). The form has four 16-bit words (number of digits,
// weight of the first digit, sign, number of decimal digits after the point), followed by digits in base 10000.
const (
	numericPositive    = 0x0000
	numericNegative    = 0x4000
	numericNaN         = 0xC000
	numericInfinity    = 0xD000
	numericNegInfinity = 0xF000
)

// appendNumeric appends a number in the binary form of numeric. It returns false if v isn't a number.
func appendNumeric(dst []byte, v *gen.Value) ([]byte, bool) {
	var a [400]byte
	switch v.Kind {
	case gen.Int, gen.Bool, gen.Decimal:
		scale := 0
		if v.Kind == gen.Decimal {
			scale = int(v.Scale)
		}
		magnitude := uint64(v.I)
		if v.I < 0 {
			magnitude = -magnitude
		}
		return appendBase10000(dst, v.I < 0, strconv.AppendUint(a[:0], magnitude, 10), scale), true
	case gen.Uint:
		return appendBase10000(dst, false, strconv.AppendUint(a[:0], uint64(v.I), 10), 0), true
	case gen.Float:
		switch {
		case math.IsNaN(v.F):
			return appendNumericHeader(dst, 0, 0, numericNaN, 0), true
		case math.IsInf(v.F, 1):
			return appendNumericHeader(dst, 0, 0, numericInfinity, 0), true
		case math.IsInf(v.F, -1):
			return appendNumericHeader(dst, 0, 0, numericNegInfinity, 0), true
		}
		text := strconv.AppendFloat(a[:0], math.Abs(v.F), 'f', -1, 64)
		digits, scale := text[:0], 0
		for i, c := range text {
			if c == '.' {
				scale = len(text) - i - 1
				continue
			}
			digits = append(digits, c)
		}
		return appendBase10000(dst, v.F < 0, digits, scale), true
	}
	return dst, false
}

func appendNumericHeader(dst []byte, count, weight int, sign uint16, scale int) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(count))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	return binary.BigEndian.AppendUint16(dst, uint16(scale))
}

// appendBase10000 appends the number with the given decimal digits, of which scale follow the decimal point.
func appendBase10000(dst []byte, negative bool, digits []byte, scale int) []byte {
	top := int(floorDiv(int64(len(digits)-1-scale), 4))
	bottom := int(floorDiv(int64(-scale), 4))
	group := func(weight int) (n uint16) {
		for e := 4*weight + 3; e >= 4*weight; e-- {
			n *= 10
			if i := len(digits) - 1 - scale - e; i >= 0 && i < len(digits) {
				n += uint16(digits[i] - '0')
			}
		}
		return n
	}
	for top >= bottom && group(top) == 0 {
		top--
	}
	for bottom <= top && group(bottom) == 0 {
		bottom++
	}
	sign := uint16(numericPositive)
	if negative && top >= bottom {
		sign = numericNegative
	}
	if top < bottom {
		top, bottom = 0, 1
	}
	dst = appendNumericHeader(dst, top-bottom+1, top, sign, scale)
	for w := top; w >= bottom; w-- {
		dst = binary.BigEndian.AppendUint16(dst, group(w))
	}
	return dst
}

// appendNumericText appends the decimal text of a numeric in binary form. ok is false if b isn't valid, or has
// more than 16383 digits after the point.
func appendNumericText(dst, b []byte) (out []byte, ok bool) {
	if len(b) < 8 {
		return dst, false
	}
	count := int(binary.BigEndian.Uint16(b))
	weight := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	scale := int(binary.BigEndian.Uint16(b[6:]))
	switch sign {
	case numericNaN:
		return append(dst, "NaN"...), true
	case numericInfinity:
		return append(dst, "Infinity"...), true
	case numericNegInfinity:
		return append(dst, "-Infinity"...), true
	case numericNegative:
		dst = append(dst, '-')
	case numericPositive:
	default:
		return dst, false
	}
	if len(b) != 8+2*count || scale > 16383 {
		return dst, false
	}
	group := func(w int) (n uint16) {
		if i := weight - w; i >= 0 && i < count {
			n = binary.BigEndian.Uint16(b[8+2*i:])
		}
		return n
	}
	if weight < 0 {
		dst = append(dst, '0')
	} else {
		dst = strconv.AppendUint(dst, uint64(group(weight)), 10)
		for w := weight - 1; w >= 0; w-- {
			dst = appendFour(dst, group(w))
		}
	}
	if scale == 0 {
		return dst, true
	}
	dst = append(dst, '.')
	end := len(dst) + scale
	for w := -1; len(dst) < end; w-- {
		dst = appendFour(dst, group(w))
	}
	return dst[:end], true
}

func appendFour(dst []byte, n uint16) []byte {
	return append(dst, byte('0'+n/1000%10), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
}
