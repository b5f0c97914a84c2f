package gen

import (
	"bytes"
	"encoding/hex"
	"math"
	"time"
)

// ParseDecimal reads a plain decimal number as unscaled × 10^-scale; ok is false for anything else and
// where an int64 can't hold it.
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

// ParseInteger reads a decimal integer; ok is false for anything else and on overflow.
func ParseInteger(text []byte) (i int64, ok bool) {
	i, scale, ok := ParseDecimal(text)
	return i, ok && scale == 0
}

// ParseTime reads a date or time in one of the ways in which servers and people write them; without a
// zone it is UTC.
func ParseTime(text string) (t time.Time, ok bool) {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999 -0700 MST",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ParseUUID appends the 16 bytes of 32 hexadecimal digits with any hyphens between them to dst.
func ParseUUID(dst, text []byte) (out []byte, ok bool) {
	out, err := hex.AppendDecode(dst, bytes.ReplaceAll(text, []byte("-"), nil))
	return out, err == nil && len(out) == len(dst)+16
}
