package cell

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width returns how many columns s takes on a terminal (Unicode Standard Annex #11). Wide and fullwidth characters take
// two columns, combining marks and control characters none.
func Width(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r >= 0x20 && r < 0x7f:
		return 1
	case unicode.IsControl(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens s to at most n columns, with an ellipsis in place of the omitted text.
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		w := runeWidth(r)
		if used+w > n-1 {
			break
		}
		b.WriteRune(r)
		used += w
	}
	if n < 1 {
		return ""
	}
	return b.String() + "…"
}

// Shorten is like Cut but omits the middle, so that names with a common beginning can be told apart by their ends.
func Shorten(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	head := Cut(s, min(n/2+1, n))
	tail, used := len(s), Width(head)
	for tail > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:tail])
		if used += runeWidth(r); used > n {
			break
		}
		tail -= size
	}
	return head + s[tail:]
}

// PadRight appends spaces to s up to a width of n columns.
func PadRight(s string, n int) string { return s + strings.Repeat(" ", max(n-Width(s), 0)) }

// PadLeft prepends spaces to s up to a width of n columns.
func PadLeft(s string, n int) string { return strings.Repeat(" ", max(n-Width(s), 0)) + s }

// Wrap breaks s between words into lines of at most n columns. A longer word gets a line of its own.
func Wrap(s string, n int) (lines []string) {
	line := ""
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// fold is like Wrap but also breaks longer words.
func fold(s string, n int) (lines []string) {
	for _, l := range Wrap(s, n) {
		used, from := 0, 0
		for i, r := range l {
			w := runeWidth(r)
			if used += w; n > 0 && used > n && i > from {
				lines, from, used = append(lines, l[from:i]), i, w
			}
		}
		lines = append(lines, l[from:])
	}
	return lines
}

// Bar returns a bar of part × n columns, in steps of an eighth. Any positive part is visible.
func Bar(part float64, n int) string {
	eighths := int(math.Round(part * float64(n) * 8))
	if part > 0 {
		eighths = max(eighths, 1)
	}
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
