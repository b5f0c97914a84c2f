package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// literal is a statement for the simple protocol whose parameters are written into it.
type literal struct {
	pieces []string // one more than params
	params []int    // zero-based numbers of the parameters between the pieces
}

// newLiteral finds the parameters $1… of a statement outside of quotes and comments.
func newLiteral(text string, count int) (l *literal, why string) {
	l = &literal{}
	start := 0
	for i := 0; i < len(text); {
		n, end := parameterAt(text, i)
		if n == 0 {
			i = skipToken(text, i)
			continue
		}
		if n > count {
			return nil, fmt.Sprintf("the statement has a parameter $%d, the plan gives %d", n, count)
		}
		l.pieces = append(l.pieces, text[start:i])
		l.params = append(l.params, n-1)
		i, start = end, end
	}
	l.pieces = append(l.pieces, text[start:])
	return l, ""
}

// parameterAt returns the number of the parameter that begins at i, or 0, and where it ends.
func parameterAt(text string, i int) (n, end int) {
	if text[i] != '$' {
		return 0, i
	}
	end = i + 1
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[i+1 : end])
	if err != nil || n > math.MaxUint16 {
		return 0, i
	}
	return n, end
}

// skipToken returns the end of what begins at i: a quoted text, a quoted name, a comment, a word
// (so that the dollar sign in it is no parameter), or one character.
func skipToken(text string, i int) int {
	rest := text[i:]
	switch c := text[i]; {
	case c == '\'' || c == '"':
		escapes := c == '\'' && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && (i < 2 || !isWord(text[i-2]))
		return skipQuoted(text, i, c, escapes)
	case strings.HasPrefix(rest, "--"):
		if k := strings.IndexByte(rest, '\n'); k >= 0 {
			return i + k + 1
		}
		return len(text)
	case strings.HasPrefix(rest, "/*"):
		return skipComment(text, i)
	case c == '$':
		if k := strings.IndexByte(rest[1:], '$'); k >= 0 && isTag(rest[1:1+k]) {
			tag := rest[:k+2]
			if e := strings.Index(rest[k+2:], tag); e >= 0 {
				return i + 2*len(tag) + e
			}
			return len(text)
		}
	case isLetter(c):
		end := i + 1
		for end < len(text) && (isWord(text[end]) || text[end] == '$') {
			end++
		}
		return end
	}
	return i + 1
}

// skipQuoted returns the end of a quoted text; a doubled quote, and with escapes a character
// after a backslash, doesn't end it.
func skipQuoted(text string, i int, quote byte, escapes bool) int {
	for i++; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// skipComment returns the end of a comment; comments nest.
func skipComment(text string, i int) int {
	depth := 0
	for ; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isWord(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }

func isTag(tag string) bool {
	for i := 0; i < len(tag); i++ {
		if !isWord(tag[i]) || i == 0 && !isLetter(tag[i]) {
			return false
		}
	}
	return true
}

// append appends the statement with its arguments, without a closing zero.
func (l *literal) append(dst []byte, args []gen.Value) ([]byte, *driver.Error) {
	for i, p := range l.params {
		dst = append(dst, l.pieces[i]...)
		var err *driver.Error
		if dst, err = appendLiteral(dst, &args[p]); err != nil {
			return dst, err
		}
	}
	return append(dst, l.pieces[len(l.pieces)-1]...), nil
}

// appendMessage appends a Query message.
func (l *literal) appendMessage(dst []byte, args []gen.Value) ([]byte, *driver.Error) {
	at := len(dst)
	dst, err := l.append(append(dst, 'Q', 0, 0, 0, 0), args)
	if err != nil {
		return dst[:at], err
	}
	dst = append(dst, 0)
	if len(dst)-at > maxMessage {
		return dst[:at], tooLarge(len(dst) - at)
	}
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-1))
	return dst, nil
}

// appendLiteral appends a value as an SQL literal.
func appendLiteral(dst []byte, v *gen.Value) ([]byte, *driver.Error) {
	switch v.Kind {
	case gen.Null:
		return append(dst, "NULL"...), nil
	case gen.Bool, gen.Uint:
		return appendText(dst, v), nil
	case gen.Int, gen.Decimal:
		if v.I < 0 { // "-" before a parameter must not make a comment
			return append(appendText(append(dst, '('), v), ')'), nil
		}
		return appendText(dst, v), nil
	case gen.Float:
		if !math.IsNaN(v.F) && !math.IsInf(v.F, 0) && v.F >= 0 {
			return appendText(dst, v), nil
		}
	case gen.Bytes:
		dst = append(dst, `'\x`...)
		for _, x := range v.B {
			dst = append(dst, hexDigits[x>>4], hexDigits[x&15])
		}
		return append(dst, '\''), nil
	case gen.String, gen.JSON:
		return appendQuoted(dst, v.B)
	}
	dst = append(dst, '\'')
	return append(appendText(dst, v), '\''), nil
}

// appendQuoted appends a quoted text that means the same whatever standard_conforming_strings is.
func appendQuoted(dst, b []byte) ([]byte, *driver.Error) {
	escape := false
	for _, c := range b {
		if c == 0 {
			return dst, &driver.Error{Class: driver.Client, Text: "a text with a zero byte can't be sent by the simple protocol"}
		}
		escape = escape || c == '\\'
	}
	if escape {
		dst = append(dst, " E"...)
	}
	dst = append(dst, '\'')
	for _, c := range b {
		if c == '\'' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '\''), nil
}
