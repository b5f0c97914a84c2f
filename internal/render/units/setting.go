package units

import (
	"strconv"
	"strings"
	"time"
)

// Setting formats the value of a server's setting: a size in binary units, such as "128MB" or "16384 × 8kB", as
// 128 MiB, and a number of milliseconds, seconds or minutes ("300 × s") as a span. Other values are returned unchanged.
func Setting(text string) string {
	number, unit, times := strings.Cut(text, " × ")
	if !times {
		unit = strings.TrimLeft(text, "0123456789")
		number = text[:len(text)-len(unit)]
		if unit == "" || unit == "s" || unit == "ms" || unit == "min" {
			return text
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return text
	}
	digits := len(unit) - len(strings.TrimLeft(unit, "0123456789"))
	factor := int64(1)
	if digits > 0 {
		if factor, err = strconv.ParseInt(unit[:digits], 10, 64); err != nil {
			return text
		}
	}
	sizes := map[string]int64{"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
	if size := sizes[unit[digits:]]; size > 0 {
		return Size(uint64(n * factor * size))
	}
	span := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "min": time.Minute}[unit]
	if span == 0 || n == 0 {
		return text
	}
	return Span(time.Duration(n) * span)
}
