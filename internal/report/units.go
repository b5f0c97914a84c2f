package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// latency writes nanoseconds with three significant digits in the unit that suits: 999 ns,
// 1.23 µs, 45.6 ms, 7.89 s.
func latency(ns float64) string {
	units := []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	if ns <= 0 || math.IsNaN(ns) {
		return "0"
	}
	for i, u := range units {
		s := digits3(ns / u.ns)
		if last := i == len(units)-1; last || (s != "1000" && ns/u.ns < 1000) {
			if u.ns == 1 {
				s = strconv.Itoa(int(math.Round(ns)))
			}
			return s + " " + u.name
		}
	}
	return ""
}

func latencyInt(ns int64) string { return latency(float64(ns)) }

// digits3 writes x ≥ 0 with three significant digits, and integers above 1000 in full.
func digits3(x float64) string {
	switch {
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// span writes a length of time as people say it: 450 ms, 12.3 s, 1 m 30 s, 2 h 5 m, 3 d 4 h.
func span(d time.Duration) string {
	if d < time.Minute {
		number, unit, _ := strings.Cut(latency(float64(d)), " ")
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		return strings.TrimSpace(number + " " + unit)
	}
	d = d.Round(time.Second)
	units := []struct {
		name string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.of {
			continue
		}
		s := fmt.Sprintf("%d %s", d/u.of, u.name)
		if rest := d % u.of; i+1 < len(units) && rest >= units[i+1].of {
			s += fmt.Sprintf(" %d %s", rest/units[i+1].of, units[i+1].name)
		}
		return s
	}
	return "0 s"
}

// count writes n with separators: 1,234,567.
func count(n uint64) string { return thousands(strconv.FormatUint(n, 10)) }

func thousands(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rate writes a number per second with three significant digits, in full from 1000 on.
func rate(x float64) string {
	if x <= 0 || math.IsNaN(x) {
		return "0"
	}
	if x >= 999.5 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return digits3(x)
}

// percent writes a part of a whole: 0, < 0.001 %, 0.012 %, 1.23 %, 45.6 %, 100 %.
func percent(part, whole uint64) string {
	if part == 0 || whole == 0 {
		return "0 %"
	}
	return fraction(float64(part) / float64(whole))
}

func fraction(f float64) string {
	p := f * 100
	switch {
	case p <= 0 || math.IsNaN(p):
		return "0 %"
	case p < 0.001:
		return "< 0.001 %"
	case p < 0.1:
		return strconv.FormatFloat(p, 'f', 3, 64) + " %"
	case p < 99.95 || p >= 100:
		return digits3(p) + " %"
	case f < 1:
		return "> 99.9 %"
	}
	return "100 %"
}

// size writes a size in binary units with three significant digits.
func size(n uint64) string {
	x, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for i, u := range units {
		if x < 1000 || i == len(units)-1 {
			if i == 0 {
				return strconv.FormatUint(n, 10) + " B"
			}
			return digits3(x) + " " + u
		}
		x /= 1024
	}
	return ""
}

// plural writes n and the noun.
func plural[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(uint64(n)) + " " + many
}
