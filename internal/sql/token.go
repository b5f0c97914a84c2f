package sql

import "strings"

type tokenKind uint8

const (
	space   tokenKind = iota // white space and comments
	word                     // keyword, name or function
	quoted                   // "name"
	text                     // 'text', $$text$$, x'00'
	number                   //
	param                    // $1, $name, :name, @name
	mark                     // ?
	cast                     // ::
	sign                     // any other byte
	primary                  // an operand that the translator has put together
)

type token struct {
	kind tokenKind
	text string
}

// lex splits s into tokens whose texts, put together, are s again. It accepts anything: what is
// left open at the end (a quote, a comment) reaches to the end.
func lex(s string) []token {
	var list []token
	for len(s) > 0 {
		kind, n := next(s)
		list = append(list, token{kind, s[:n]})
		s = s[n:]
	}
	return list
}

// next returns the kind and length of the token that s, which isn't empty, begins with.
func next(s string) (tokenKind, int) {
	c := s[0]
	switch {
	case isSpace(c):
		n := 1
		for n < len(s) && isSpace(s[n]) {
			n++
		}
		return space, n
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return space, i + 1
		}
		return space, len(s)
	case strings.HasPrefix(s, "/*"):
		return space, comment(s)
	case c == '\'':
		return text, closing(s, 1, '\'', false)
	case c == '"':
		return quoted, closing(s, 1, '"', false)
	case c == '`':
		return quoted, closing(s, 1, '`', false)
	case c == '$':
		return dollar(s)
	case strings.HasPrefix(s, "::"):
		return cast, 2
	case (c == ':' || c == '@') && len(s) > 1 && isLetter(s[1]):
		return param, 1 + run(s[1:], isWord)
	case c == '?':
		return mark, 1
	case isDigit(c) || c == '.' && len(s) > 1 && isDigit(s[1]):
		return number, numberLength(s)
	case isLetter(c):
		if len(s) > 1 && s[1] == '\'' && strings.IndexByte("eEbBxXnN", c) >= 0 {
			return text, closing(s, 2, '\'', c == 'e' || c == 'E')
		}
		return word, run(s, isWord)
	}
	return sign, 1
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
func dollar(s string) (tokenKind, int) {
	if len(s) > 1 && isDigit(s[1]) {
		return param, 1 + run(s[1:], isDigit)
	}
	n := 1 + run(s[1:], func(c byte) bool { return isWord(c) && c != '$' })
	if n < len(s) && s[n] == '$' {
		tag := s[:n+1]
		if i := strings.Index(s[n+1:], tag); i >= 0 {
			return text, n + 1 + i + len(tag)
		}
		return text, len(s)
	}
	if n > 1 {
		return param, n
	}
	return sign, 1
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

// after returns the index of the first token from i on that isn't space, or len(list).
func after(list []token, i int) int {
	for i < len(list) && list[i].kind == space {
		i++
	}
	return i
}

// before returns the index of the last token up to i that isn't space, or -1.
func before(list []token, i int) int {
	for i >= 0 && list[i].kind == space {
		i--
	}
	return i
}

func (t token) is(w string) bool { return t.kind == word && strings.EqualFold(t.text, w) }

func (t token) isSign(s string) bool { return t.kind == sign && t.text == s }

// isReserved reports whether a word is part of SQL's grammar and so can't be a name, nor a
// function, unless it is quoted.
func isReserved(w string) bool {
	switch strings.ToLower(w) {
	case "all", "and", "any", "array", "as", "asc", "between", "by", "case", "check", "collate", "conflict",
		"constraint", "create", "cross", "default", "delete", "desc", "distinct", "do", "drop", "else", "end",
		"except", "exists", "false", "for", "foreign", "from", "full", "group", "having", "ilike", "in", "index",
		"inner", "insert", "intersect", "into", "is", "join", "left", "like", "limit", "natural", "not", "null",
		"offset", "on", "or", "order", "outer", "primary", "references", "returning", "right", "select", "set",
		"some", "table", "then", "to", "true", "union", "unique", "update", "using", "values", "when", "where", "with":
		return true
	}
	return false
}
