// Package sqltext splits SQL text into tokens. It is shared by all packages that inspect statements: they must
// distinguish parameters, casts and names from text in constants and comments that only looks like them. It
// doesn't parse any grammar and accepts any text.
package sqltext

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds.
const (
	Space  Kind = iota // white space and comments
	Word               // keyword, name or function
	Quoted             // "name"
	Text               // 'text', $$text$$, x'00'
	Number
	Param // $1, $name, :name, @name
	Mark  // ?
	Cast  // ::
	Sign  // any other byte
)

// Token is a piece of a statement with its exact text.
type Token struct {
	Kind Kind
	Text string
}

// Split splits s into tokens. Their texts, concatenated, are s. It accepts any text: an unterminated quote or
// comment extends to the end.
func Split(s string) []Token {
	var list []Token
	for len(s) > 0 {
		kind, n := next(s)
		list = append(list, Token{kind, s[:n]})
		s = s[n:]
	}
	return list
}

// Words returns the tokens of s without spaces and comments.
func Words(s string) []Token {
	return slices.DeleteFunc(Split(s), func(t Token) bool { return t.Kind == Space })
}

// next returns the kind and length of the first token of s, which must not be empty.
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

// closing returns the length up to and including the closing quote. A doubled quote doesn't close, nor, with
// escapes, does a quote after a backslash.
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

// comment returns the length of a block comment. Block comments nest, as in PostgreSQL.
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

// dollar distinguishes parameters ($1, $name) from dollar-quoted text ($$…$$, $tag$…$tag$).
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

// Parameter returns the number of a numbered parameter: 1 for $1, math.MaxInt for numbers that don't fit an int.
// ok is false for any other token.
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

// Is reports whether t is the word w, regardless of letter case.
func (t Token) Is(w string) bool { return t.Kind == Word && strings.EqualFold(t.Text, w) }

// IsSign reports whether t is the sign s.
func (t Token) IsSign(s string) bool { return t.Kind == Sign && t.Text == s }

// FirstWord returns a statement's first keyword in capitals. It skips white space, comments and opening
// parentheses. If another token comes first, it returns that token; if there is none, "".
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

// Quote returns a name as a quoted identifier of standard SQL.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteAll returns all names as Quote does.
func QuoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = Quote(name)
	}
	return quoted
}

// Path splits the name of a table into the schema that it is in, if any, and its own name: at the dots that aren't in
// quotes. So app.cars is cars in the schema app, and "app.cars" a name with a dot. Quotes are ", or ` as in MySQL.
func Path(name string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if (c == '"' || c == '`') && part.Len() == 0 {
			if end := quotedEnd(name, i); end > 0 && (end == len(name) || name[end] == '.') {
				part.WriteString(strings.ReplaceAll(name[i+1:end-1], string([]byte{c, c}), string(c)))
				i = end - 1
				continue
			}
		}
		if c == '.' && part.Len() > 0 && i+1 < len(name) {
			parts = append(parts, part.String())
			part.Reset()
			continue
		}
		part.WriteByte(c)
	}
	return append(parts, part.String())
}

// quotedEnd returns the end of the quoted name that begins at i, or 0 if its closing quote is missing.
func quotedEnd(name string, i int) int {
	for k := i + 1; k < len(name); k++ {
		if name[k] != name[i] {
			continue
		}
		if k+1 < len(name) && name[k+1] == name[i] {
			k++
			continue
		}
		return k + 1
	}
	return 0
}

// QuoteTable returns the name of a table, which may be in a schema, as quoted identifiers of standard SQL; see Path.
func QuoteTable(name string) string { return strings.Join(QuoteAll(Path(name)), ".") }

// QuoteText returns a text as a string literal of standard SQL.
func QuoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
