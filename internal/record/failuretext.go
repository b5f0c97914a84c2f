package record

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// elided stands in a text for what differs between failures.
const elided = "…"

// textKind returns text with "…" for each part that may differ between failures of one kind: words with digits, such
// as numbers and addresses, and what is quoted. Numbers of three digits remain, because they are the codes of HTTP.
// textKind(textKind(s)) is textKind(s).
func textKind(text string) string {
	for {
		kind := elideParts(text)
		if kind == text { // otherwise what was elided may have joined its neighbours
			return kind
		}
		text = kind
	}
}

func elideParts(text string) string {
	var b strings.Builder
	for text != "" {
		part, varies, rest := nextPart(text)
		text = rest
		if varies {
			part = elide(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// commonText returns what two texts of a kind have in common, with "…" for parts that differ.
func commonText(a, b, kind string) string {
	var common strings.Builder
	for a != "" && b != "" {
		var x, y string
		var varies bool
		x, varies, a = nextPart(a)
		y, _, b = nextPart(b)
		if varies && x != y {
			x = elide(x)
		}
		common.WriteString(x)
	}
	if text := common.String(); textKind(text) == kind {
		return text
	}
	return kind
}

// elide returns "…" in the quotes of part, if it has any.
func elide(part string) string {
	if quote := part[:1]; strings.Contains(quotes, quote) {
		return quote + elided + quote
	}
	return elided
}

const quotes = "\"'`"

// nextPart splits a text that isn't empty after its first part: something quoted, a word, or one other character. A
// part varies if failures of one kind may differ in it.
func nextPart(text string) (part string, varies bool, rest string) {
	if strings.Contains(quotes, text[:1]) {
		if n := quoted(text); n > 0 {
			return text[:n], true, text[n:]
		}
		return text[:1], false, text[1:]
	}
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		// An apostrophe within a word doesn't begin a quotation.
		if !inWord(r) && (r != '\'' || n == 0 || !wordFollows(text[n+size:])) {
			break
		}
		n += size
	}
	word := strings.TrimRight(text[:n], ".:/-")
	if word == "" {
		_, size := utf8.DecodeRuneInString(text)
		return text[:size], false, text[size:]
	}
	return word, strings.Contains(word, elided) || strings.ContainsAny(word, "0123456789") && !threeDigits(word),
		text[len(word):]
}

// quoted returns the length of what is quoted at the beginning of text, or 0 if the quote doesn't end.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] == text[0] && !wordFollows(text[i+1:]) {
			return i + 1
		}
	}
	return 0
}

// inWord reports whether a character is part of words, addresses or paths.
func inWord(r rune) bool {
	return r == '…' || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.:/%-", r)
}

// wordFollows reports whether text begins with a letter, a digit or an ellipsis.
func wordFollows(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == '…' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func threeDigits(word string) bool {
	return len(word) == 3 && strings.Trim(word, "0123456789") == ""
}
