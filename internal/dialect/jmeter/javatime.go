package jmeter

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
)

// runs takes a pattern of java.text.SimpleDateFormat apart: runs of one letter, and literal text.
func runs(pattern string, letter func(c byte, n int), literal func(s string)) {
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(pattern[i+1:], '\'')
			switch {
			case end < 0:
				literal(pattern[i+1:])
				return
			case end == 0:
				literal("'")
			default:
				literal(pattern[i+1 : i+1+end])
			}
			i += end + 2
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == c {
				n++
			}
			letter(c, n)
			i += n
		default:
			literal(pattern[i : i+1])
			i++
		}
	}
}

// javaTime formats a time by a pattern of java.text.SimpleDateFormat, in English.
func javaTime(pattern string, t time.Time) string {
	var b strings.Builder
	number := func(v, width int) { fmt.Fprintf(&b, "%0*d", width, v) }
	runs(pattern, func(c byte, n int) {
		switch c {
		case 'y', 'u', 'Y':
			if n == 2 {
				number(t.Year()%100, 2)
			} else {
				number(t.Year(), n)
			}
		case 'M', 'L':
			switch {
			case n >= 4:
				b.WriteString(t.Month().String())
			case n == 3:
				b.WriteString(t.Month().String()[:3])
			default:
				number(int(t.Month()), n)
			}
		case 'E':
			if n >= 4 {
				b.WriteString(t.Weekday().String())
			} else {
				b.WriteString(t.Weekday().String()[:3])
			}
		case 'S':
			b.WriteString(fraction(t, n))
		case 'a':
			b.WriteString(t.Format("PM"))
		case 'Z':
			b.WriteString(t.Format("-0700"))
		case 'z':
			b.WriteString(t.Format("MST"))
		case 'X':
			b.WriteString(t.Format([]string{"Z07", "Z07", "Z0700", "Z07:00"}[min(n, 3)]))
		case 'G':
			b.WriteString("AD")
		default:
			if v, ok := fieldOf(t, c); ok {
				number(v, n)
			}
		}
	}, func(s string) { b.WriteString(s) })
	return b.String()
}

// fraction returns what S stands for: milliseconds up to three letters, the fraction of a second beyond.
func fraction(t time.Time, n int) string {
	if n <= 3 {
		return fmt.Sprintf("%0*d", n, t.Nanosecond()/1e6)
	}
	return (fmt.Sprintf("%09d", t.Nanosecond()) + strings.Repeat("0", n))[:n]
}

func fieldOf(t time.Time, c byte) (v int, ok bool) {
	switch c {
	case 'd':
		return t.Day(), true
	case 'H':
		return t.Hour(), true
	case 'k':
		return (t.Hour()+23)%24 + 1, true
	case 'h':
		return (t.Hour()+11)%12 + 1, true
	case 'K':
		return t.Hour() % 12, true
	case 'm':
		return t.Minute(), true
	case 's':
		return t.Second(), true
	case 'D':
		return t.YearDay(), true
	case 'w':
		_, week := t.ISOWeek()
		return week, true
	}
	return 0, false
}

// parseJavaTime reads a time that was written by a pattern.
func parseJavaTime(pattern, s string) (time.Time, error) {
	var layout strings.Builder
	var bad string
	runs(pattern, func(c byte, n int) {
		word := ""
		switch c {
		case 'y', 'u':
			word = map[bool]string{true: "06", false: "2006"}[n == 2]
		case 'M', 'L':
			word = []string{"1", "1", "01", "Jan", "January"}[min(n, 4)]
		case 'd':
			word = []string{"2", "2", "02"}[min(n, 2)]
		case 'E':
			word = map[bool]string{true: "Monday", false: "Mon"}[n >= 4]
		case 'H':
			word = "15"
		case 'h':
			word = []string{"3", "3", "03"}[min(n, 2)]
		case 'm':
			word = []string{"4", "4", "04"}[min(n, 2)]
		case 's':
			word = []string{"5", "5", "05"}[min(n, 2)]
		case 'S':
			word = strings.Repeat("0", n)
		case 'a':
			word = "PM"
		case 'Z':
			word = "-0700"
		case 'z':
			word = "MST"
		case 'X':
			word = []string{"Z07", "Z07", "Z0700", "Z07:00"}[min(n, 3)]
		default:
			bad = string(c)
		}
		layout.WriteString(word)
	}, func(s string) { layout.WriteString(s) })
	if bad != "" {
		return time.Time{}, fmt.Errorf("the letter %s of the format %q can't be read", bad, pattern)
	}
	at, err := time.ParseInLocation(layout.String(), s, time.Local)
	if err != nil {
		return at, fmt.Errorf("%q isn't a time of the format %q", s, pattern)
	}
	return at, nil
}

var isoDuration = lazyregexp.New(`^([-+]?)P(?:([-+]?\d+)D)?` +
	`(?:T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:\.\d+)?S)?)?$`)

// shiftTime adds a duration of ISO 8601 as java.time.Duration reads it, such as P2DT3H or -PT5M.
func shiftTime(at time.Time, shift string) (time.Time, bool) {
	shift = strings.ToUpper(strings.TrimSpace(shift))
	if shift == "" {
		return at, true
	}
	m := isoDuration().FindStringSubmatch(shift)
	if m == nil {
		return at, false
	}
	n := func(i int) time.Duration {
		v, _ := strconv.ParseInt(strings.TrimPrefix(m[i], "+"), 10, 64)
		return time.Duration(v)
	}
	d := n(2)*24*time.Hour + n(3)*time.Hour + n(4)*time.Minute + n(5)*time.Second
	if m[1] == "-" {
		d = -d
	}
	return at.Add(d), true
}

// javaNumber formats a whole number by a pattern of java.text.DecimalFormat, as far as counters use it: zeros for
// digits that are always written, with text around them.
func javaNumber(pattern string, v int64) string {
	begin := strings.IndexAny(pattern, "0#")
	if begin < 0 {
		if pattern == "" {
			return strconv.FormatInt(v, 10)
		}
		return pattern + strconv.FormatInt(v, 10)
	}
	end := begin
	for end < len(pattern) && strings.IndexByte("0#,", pattern[end]) >= 0 {
		end++
	}
	digits := strconv.FormatInt(max(v, -v), 10)
	if zeros := strings.Count(pattern[begin:end], "0"); len(digits) < zeros {
		digits = strings.Repeat("0", zeros-len(digits)) + digits
	}
	if comma := strings.LastIndexByte(pattern[begin:end], ','); comma >= 0 {
		size := end - begin - comma - 1
		for at := len(digits) - size; size > 0 && at > 0; at -= size {
			digits = digits[:at] + "," + digits[at:]
		}
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	unquote := func(s string) string { return strings.ReplaceAll(s, "'", "") }
	return sign + unquote(pattern[:begin]) + digits + unquote(pattern[end:])
}
