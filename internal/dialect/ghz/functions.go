package ghz

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"

	"brunt/internal/load/gen"
)

// draws are the functions of templates, which draw random values from the stream of a call. Names and meanings are
// those of ghz, and of the library of functions that it includes.
type draws struct{ r *gen.Rand }

func (d *draws) all() template.FuncMap {
	return template.FuncMap{
		"newUUID": d.uuid, "uuidv4": d.uuid, "randomString": d.randomString, "randomInt": d.randomInt,
		"randInt":      d.randInt,
		"randAlphaNum": func(n int) (string, error) { return d.letters(n, alphaNum) },
		"randAlpha":    func(n int) (string, error) { return d.letters(n, alphaNum[:52]) },
		"randNumeric":  func(n int) (string, error) { return d.letters(n, alphaNum[52:]) },
		"now":          time.Now, "unixEpoch": func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
		"date":  func(layout string, t time.Time) string { return t.Format(layout) },
		"upper": strings.ToUpper, "lower": strings.ToLower, "title": title, "trim": strings.TrimSpace,
		"trimPrefix": func(p, s string) string { return strings.TrimPrefix(s, p) },
		"trimSuffix": func(p, s string) string { return strings.TrimSuffix(s, p) },
		"replace":    func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
		"repeat":     repeat, "trunc": trunc, "substr": substr, "quote": func(v any) string { return strconv.Quote(str(v)) },
		"squote": func(v any) string { return "'" + str(v) + "'" }, "toString": str,
		"contains":  func(part, s string) bool { return strings.Contains(s, part) },
		"hasPrefix": func(p, s string) bool { return strings.HasPrefix(s, p) },
		"hasSuffix": func(p, s string) bool { return strings.HasSuffix(s, p) },
		"b64enc":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"b64dec":    b64dec, "default": orDefault, "ternary": ternary,
		"int": whole, "int64": whole, "atoi": whole, "float64": float,
		"add": sum, "add1": func(v any) int64 { return whole(v) + 1 }, "mul": product,
		"sub": func(a, b any) int64 { return whole(a) - whole(b) },
		"div": func(a, b any) (int64, error) {
			return divided(a, b, func(x, y int64) int64 { return x / y })
		},
		"mod": func(a, b any) (int64, error) {
			return divided(a, b, func(x, y int64) int64 { return x % y })
		},
		"max": func(a any, more ...any) int64 { return extreme(a, more, func(x, y int64) bool { return x > y }) },
		"min": func(a any, more ...any) int64 { return extreme(a, more, func(x, y int64) bool { return x < y }) },
	}
}

// functionNames returns the functions for parsing.
func functionNames() template.FuncMap { return (&draws{}).all() }

const alphaNum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// mostText limits the texts that functions make, in bytes.
const mostText = 1 << 20

func (d *draws) uuid() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(d.r.Between(0, 255))
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4 (RFC 9562)
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (d *draws) letters(n int, of string) (string, error) {
	if n < 0 || n > mostText {
		return "", fmt.Errorf("a text of %d letters", n)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = of[d.r.Between(0, int64(len(of)-1))]
	}
	return string(b), nil
}

func (d *draws) randomString(n int) (string, error) {
	if n <= 0 {
		n = int(d.r.Between(shortest, longest))
	}
	return d.letters(n, alphaNum)
}

func (d *draws) randomInt(lo, hi int) (int64, error) { return d.randInt(max(lo, 0), max(hi, 1)) }

func (d *draws) randInt(lo, hi int) (int64, error) {
	if lo >= hi {
		return 0, fmt.Errorf("no number from %d to below %d", lo, hi)
	}
	return d.r.Between(int64(lo), int64(hi)-1), nil
}

func title(s string) string {
	before := ' '
	return strings.Map(func(r rune) rune {
		first := unicode.IsSpace(before)
		if before = r; first {
			return unicode.ToTitle(r)
		}
		return r
	}, s)
}

func repeat(n int, s string) (string, error) {
	if n < 0 || len(s) > 0 && n > mostText/len(s) {
		return "", errors.New("the repeated text is too long")
	}
	return strings.Repeat(s, n), nil
}

func trunc(n int, s string) string {
	switch {
	case n < 0 && len(s)+n > 0:
		return s[len(s)+n:]
	case n >= 0 && len(s) > n:
		return s[:n]
	}
	return s
}

func substr(from, to int, s string) string {
	if from < 0 {
		from = 0
	}
	if to < 0 || to > len(s) {
		to = len(s)
	}
	if from > to {
		return ""
	}
	return s[from:to]
}

func str(v any) string { return fmt.Sprint(v) }

func b64dec(s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func orDefault(usual any, given ...any) any {
	if len(given) == 0 || given[0] == nil || given[0] == "" || given[0] == 0 || given[0] == false {
		return usual
	}
	return given[0]
}

func ternary(yes, no any, which bool) any {
	if which {
		return yes
	}
	return no
}

func float(v any) float64 {
	f, _ := strconv.ParseFloat(str(v), 64)
	return f
}

func whole(v any) int64 {
	if n, err := strconv.ParseInt(str(v), 10, 64); err == nil {
		return n
	}
	return int64(float(v))
}

func sum(all ...any) (n int64) {
	for _, v := range all {
		n += whole(v)
	}
	return n
}

func product(a any, more ...any) int64 {
	n := whole(a)
	for _, v := range more {
		n *= whole(v)
	}
	return n
}

func divided(a, b any, by func(x, y int64) int64) (int64, error) {
	if whole(b) == 0 {
		return 0, errors.New("division by zero")
	}
	return by(whole(a), whole(b)), nil
}

func extreme(a any, more []any, beyond func(x, y int64) bool) int64 {
	n := whole(a)
	for _, v := range more {
		if m := whole(v); beyond(m, n) {
			n = m
		}
	}
	return n
}
