// Package sqltext cuts SQL text into tokens, as far as every room that looks into statements needs
// it: parameters, casts and names must be told from what merely looks like them in texts and
// comments. It knows no grammar and accepts anything.
package sqltext

import (
	"math"
	"strconv"
	"strings"
)

// Kind is what a token is.
type Kind uint8

// The kinds.
const (
	Space  Kind = iota // white space and comments
	Word               // keyword, name or function
	Quoted             // "name"
	Text               // 'text', $$text$$, x'00'
	Number             //
	Param              // $1, $name, :name, @name
	Mark               // ?
	Cast               // ::
	Sign               // any other byte
)

// Token is a piece of a statement, as it stands there.
type Token struct {
	Kind Kind
	Text string
}

// Split cuts s into tokens whose texts, put together, are s again. It accepts anything: what is
// left open at the end (a quote, a comment) reaches to the end.
func Split(s string) []Token {
	var list []Token
	for len(s) > 0 {
		kind, n := next(s)
		list = append(list, Token{kind, s[:n]})
		s = s[n:]
	}
	return list
}

// next returns the kind and length of the token that s, which isn't empty, begins with.
func next(s string) (Kind, int) {
	c := s[0]
	switch {
	case isSpace(c):
		n := 1
		for n < len(s) && isSpace(s[n]) {
			n++
		}
		return Space, n
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return Space, i + 1
		}
		return Space, len(s)
	case strings.HasPrefix(s, "/*"):
		return Space, comment(s)
	case c == '\'':
		return Text, closing(s, 1, '\'', false)
	case c == '"':
		return Quoted, closing(s, 1, '"', false)
	case c == '`':
		return Quoted, closing(s, 1, '`', false)
	case c == '$':
		return dollar(s)
	case strings.HasPrefix(s, "::"):
		return Cast, 2
	case (c == ':' || c == '@') && len(s) > 1 && isLetter(s[1]):
		return Param, 1 + run(s[1:], isWord)
	case c == '?':
		return Mark, 1
	case isDigit(c) || c == '.' && len(s) > 1 && isDigit(s[1]):
		return Number, numberLength(s)
	case isLetter(c):
		if len(s) > 1 && s[1] == '\'' && strings.IndexByte("eEbBxXnN", c) >= 0 {
			return Text, closing(s, 2, '\'', c == 'e' || c == 'E')
		}
		return Word, run(s, isWord)
	}
	return Sign, 1
}

// closing returns the length up to and with the closing quote; a doubled quote stands for itself,
// and so does, with escapes, one after a backslash.
func closing(s string, from int, quote byte, escapes bool) int {
	for i := from; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] != quote:
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

// comment returns the length of a block comment; they nest as in PostgreSQL.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// dollar tells parameters ($1, $name) from dollar-quoted text ($$…$$, $tag$…$tag$).
func dollar(s string) (Kind, int) {
	if len(s) > 1 && isDigit(s[1]) {
		return Param, 1 + run(s[1:], isDigit)
	}
	n := 1 + run(s[1:], func(c byte) bool { return isWord(c) && c != '$' })
	if n < len(s) && s[n] == '$' {
		tag := s[:n+1]
		if i := strings.Index(s[n+1:], tag); i >= 0 {
			return Text, n + 1 + i + len(tag)
		}
		return Text, len(s)
	}
	if n > 1 {
		return Param, n
	}
	return Sign, 1
}

func numberLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		exponent := n > 0 && (c == '+' || c == '-') && (s[n-1] == 'e' || s[n-1] == 'E') && !strings.HasPrefix(s, "0x")
		if !exponent && c != '.' && !isDigit(c) && !isLetter(c) {
			break
		}
		n++
	}
	return n
}

func run(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '$' }

// Parameter returns the number of a numbered parameter ($1 is 1; a number that no int holds is
// math.MaxInt), and ok false for any other token.
func (t Token) Parameter() (n int, ok bool) {
	if t.Kind != Param || t.Text[0] != '$' || !isDigit(t.Text[1]) {
		return 0, false
	}
	n, err := strconv.Atoi(t.Text[1:])
	if err != nil {
		n = math.MaxInt
	}
	return n, true
}

// Is reports whether t is the word w, in any letter case.
func (t Token) Is(w string) bool { return t.Kind == Word && strings.EqualFold(t.Text, w) }

// IsSign reports whether t is the sign s.
func (t Token) IsSign(s string) bool { return t.Kind == Sign && t.Text == s }

// FirstWord is a statement's first keyword in capitals; white space, comments and opening parentheses
// before it are passed over. Where something else comes first that is returned; "" means that there is
// nothing.
func FirstWord(s string) string {
	for len(s) > 0 {
		kind, n := next(s)
		if kind != Space && s[:n] != "(" {
			return strings.ToUpper(s[:n])
		}
		s = s[n:]
	}
	return ""
}

// Quote makes a name an identifier of standard SQL.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteAll is Quote of all names.
func QuoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = Quote(name)
	}
	return quoted
}

// QuoteText makes a text a literal of standard SQL.
func QuoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
