package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// displayWidth is how many columns a terminal gives to s (Unicode Standard Annex #11): wide and
// fullwidth characters take two, combining marks and controls none.
func displayWidth(s string) (n int) {
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

// cut shortens s to at most n columns, with an ellipsis where something is missing.
func cut(s string, n int) string {
	if displayWidth(s) <= n {
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

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(n-displayWidth(s), 0)) }
func padLeft(s string, n int) string  { return strings.Repeat(" ", max(n-displayWidth(s), 0)) + s }

// wrap breaks s between words into lines of at most n columns; longer words stand alone.
func wrap(s string, n int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case displayWidth(line)+1+displayWidth(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
