// Package units formats figures for humans: times, rates, counts, fractions and sizes, each in a suitable unit.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"brunt/internal/base/secret"
)

// Latency formats a time in nanoseconds with three significant digits in a suitable unit: 999 ns, 1.23 µs, 45.6 ms,
// 7.89 s; ∞ for +Inf.
func Latency(ns float64) string {
	units := []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	switch {
	case ns <= 0 || math.IsNaN(ns):
		return "0"
	case math.IsInf(ns, 1):
		return "∞"
	}
	for i, u := range units {
		s := Digits3(ns / u.ns)
		if last := i == len(units)-1; last || (s != "1000" && ns/u.ns < 1000) {
			if u.ns == 1 {
				s = strconv.Itoa(int(math.Round(ns)))
			}
			return s + " " + u.name
		}
	}
	return ""
}

// LatencyInt is Latency for integers. math.MaxInt64 stands for ∞.
func LatencyInt[N ~int64](ns N) string {
	if int64(ns) == math.MaxInt64 {
		return "∞"
	}
	return Latency(float64(ns))
}

// Apart returns the step with which To shows that v isn't limit: 0 if Value shows it.
func Apart(v, limit float64, unit string) float64 {
	if v == limit || Value(v, unit) != Value(limit, unit) {
		return 0
	}
	return math.Abs(v - limit)
}

// To formats v like Value, with enough additional digits to show a difference of step, up to nine decimals. It adds
// none if step is 0 or if the unit is formatted without decimals.
func To(v, step float64, unit string) string {
	text := Value(v, unit)
	number, name, _ := strings.Cut(text, " ")
	scale := 1.0
	switch unit {
	case "ns", "seconds":
		ns := v
		if unit == "seconds" {
			ns, step = 1e9*v, 1e9*step
		}
		v, scale = ns, map[string]float64{"ns": 0, "µs": 1e3, "ms": 1e6, "s": 1e9}[name]
	case "per_s":
		number, name = strings.TrimSuffix(text, "/s"), "/s"
	case "share", "fraction":
		scale = 0.01
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, ">") {
			scale = 0
		}
	default:
		return text
	}
	_, decimals, _ := strings.Cut(number, ".")
	if !(step > 0) || scale == 0 || v <= 0 || math.IsInf(v, 0) {
		return text
	}
	need := int(math.Ceil(-math.Log10(step/scale) - 1e-9))
	if need <= len(decimals) {
		return text
	}
	whole, part, _ := strings.Cut(strconv.FormatFloat(v/scale, 'f', min(need, 9), 64), ".")
	if whole = thousands(whole); unit == "per_s" {
		return whole + "." + part + name
	}
	return whole + "." + part + " " + name
}

// Digits3 formats x ≥ 0 with three significant digits, or as an integer from 99.95 on.
func Digits3(x float64) string {
	switch {
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// Span formats a duration in a form for humans: 450 ms, 12.3 s, 1 m 30 s, 2 h 5 m, 3 d 4 h.
func Span(d time.Duration) string {
	if d < time.Minute {
		number, unit, _ := strings.Cut(Latency(float64(d)), " ")
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

// Count formats n with thousands separators: 1,234,567.
func Count(n uint64) string { return thousands(strconv.FormatUint(n, 10)) }

func thousands(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Rate formats a rate per second with three significant digits, or as an integer from 1000 on.
func Rate(x float64) string {
	if x <= 0 || math.IsNaN(x) {
		return "0"
	}
	if x >= 999.5 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return Digits3(x)
}

// Percent formats part ÷ whole: 0 %, < 0.001 %, 0.012 %, 1.23 %, 45.6 %, 100 %.
func Percent(part, whole uint64) string {
	if part == 0 || whole == 0 {
		return "0 %"
	}
	return Fraction(float64(part) / float64(whole))
}

// Fraction formats a fraction of 1 like Percent.
func Fraction(f float64) string {
	p := f * 100
	switch {
	case p <= 0 || math.IsNaN(p):
		return "0 %"
	case p < 0.001:
		return "< 0.001 %"
	case p < 0.1:
		return strconv.FormatFloat(p, 'f', 3, 64) + " %"
	case p < 99.95 || p >= 100:
		return Digits3(p) + " %"
	case f < 1:
		return "> 99.9 %"
	}
	return "100 %"
}

// Size formats a number of bytes in binary units with three significant digits.
func Size(n uint64) string {
	x, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for i, u := range units {
		if x < 1000 || i == len(units)-1 {
			if i == 0 {
				return strconv.FormatUint(n, 10) + " B"
			}
			return Digits3(x) + " " + u
		}
		x /= 1024
	}
	return ""
}

// Plural returns n and the noun in the form for n.
func Plural[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(uint64(n)) + " " + many
}

// Signed formats a number with its sign.
func Signed(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 1):
		return "+∞"
	case math.IsInf(x, -1):
		return "−∞"
	}
	digits := Digits3(math.Abs(x))
	if x < 0 && digits != "0.00" {
		return "−" + digits
	}
	return "+" + digits
}

// Value formats a figure in the given unit of the record: "ns", "seconds", "bytes", "share" or "fraction", "per_s",
// "count", "cores", "change" (a signed fraction), or "points" (a signed difference of fractions).
func Value(v float64, unit string) string {
	switch unit {
	case "ns":
		return Latency(v)
	case "seconds":
		return Latency(v * 1e9)
	case "bytes":
		return Size(uint64(max(v, 0)))
	case "share", "fraction":
		return Fraction(v)
	case "per_s":
		return Rate(v) + "/s"
	case "cores":
		return strconv.FormatFloat(v, 'f', 2, 64) + " cores"
	case "change":
		return Signed(100*v) + " %"
	case "points":
		return Signed(100*v) + " pp"
	case "count":
		if v == math.Trunc(v) && v >= 0 && v < 1<<53 {
			return Count(uint64(v))
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return Digits3(v)
}

// Limited returns a text of at most most bytes as it is, and of a longer one the beginning and an ellipsis.
func Limited(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Clean makes external text safe to print on one line: it removes control characters and those that change the text
// direction.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// CommandLine returns the words of a command line as they are typed into a shell. What stands for a secret stays bare.
func CommandLine(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = Clean(word)
		bare := strings.ReplaceAll(out[i], secret.Hidden, "")
		if word == "" || strings.ContainsFunc(bare, special) {
			out[i] = "'" + strings.ReplaceAll(out[i], "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// special reports whether a shell may take a character for something else than itself.
func special(r rune) bool {
	return r <= ' ' || strings.ContainsRune("!\"#$&'()*;<>?[\\]^`{|}~", r)
}

// Language is the language of figures and texts. The zero value is English.
type Language string

// The languages.
const (
	English Language = "en"
	Russian Language = "ru"
)

// ParseLanguage reads a language's code.
func ParseLanguage(s string) (Language, error) {
	switch l := Language(strings.ToLower(s)); l {
	case English, Russian:
		return l, nil
	}
	return English, fmt.Errorf("unknown language %q; use %s or %s", s, English, Russian)
}

// russianUnits replaces the units that this package writes by their Russian names (GOST 8.417 and IEC 80000-13).
var russianUnits = strings.NewReplacer(
	" ns", " нс", " µs", " мкс", " ms", " мс", " s", " с", " m", " мин", " h", " ч", " d", " д",
	" KiB", " КиБ", " MiB", " МиБ", " GiB", " ГиБ", " TiB", " ТиБ", " B", " Б", "/s", "/с", " pp", " п. п.", " cores",
	" ядра",
)

// Figure translates a figure formatted by this package to l: in Russian, 1,234.5 ms becomes 1 234,5 мс, with
// non-breaking spaces.
func (l Language) Figure(english string) string {
	if l != Russian {
		return english
	}
	in := []rune(english)
	digit := func(i int) bool { return i >= 0 && i < len(in) && in[i] >= '0' && in[i] <= '9' }
	out := make([]rune, len(in))
	for i, r := range in {
		switch {
		case r == ',' && digit(i-1) && digit(i+1):
			r = '\u00a0'
		case r == '.' && digit(i-1) && digit(i+1):
			r = ','
		}
		out[i] = r
	}
	return strings.ReplaceAll(russianUnits.Replace(string(out)), " ", "\u00a0")
}

// Value is the function Value with the result in l.
func (l Language) Value(v float64, unit string) string { return l.Figure(Value(v, unit)) }
