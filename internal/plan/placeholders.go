package plan

import (
	"strconv"
	"strings"
)

// Placeholders is which parameters a statement or template uses.
type Placeholders struct {
	Used      map[int]bool // $n, n from 1
	Max       int          // the greatest n
	Questions int          // question marks outside of texts and comments (SQL only)
}

func (p *Placeholders) use(n int) {
	if p.Used == nil {
		p.Used = map[int]bool{}
	}
	p.Used[n] = true
	p.Max = max(p.Max, n)
}

// SQLPlaceholders finds the parameters of a statement. Texts in single quotes, names in double
// quotes, texts in dollar quotes, and comments of both kinds are passed over.
func SQLPlaceholders(sql string) Placeholders {
	var p Placeholders
	for i := 0; i < len(sql); {
		rest := sql[i:]
		switch {
		case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
			i += quoted(rest)
		case strings.HasPrefix(rest, "--"):
			i += until(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += blockComment(rest)
		case rest[0] == '$':
			i += p.dollar(rest, i > 0 && nameByte(sql[i-1]))
		case rest[0] == '?':
			p.Questions++
			i++
		default:
			i++
		}
	}
	return p
}

// TemplatePlaceholders finds $n in a template where $$ stands for a dollar sign, and counts in
// other the dollar signs that are neither.
func TemplatePlaceholders(text string) (p Placeholders, other int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		n, length := number(text[i+1:])
		switch {
		case length > 0:
			p.use(n)
			i += length
		case strings.HasPrefix(text[i:], "$$"):
			i++
		default:
			other++
		}
	}
	return p, other
}

func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == s[0] {
			return i + 1
		}
	}
	return len(s)
}

func until(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// blockComment returns the length of a comment that may hold others.
func blockComment(s string) int {
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

// dollar handles a dollar sign: $n, the start of a dollar-quoted text, or part of a name.
func (p *Placeholders) dollar(s string, inName bool) int {
	if inName {
		return 1
	}
	if n, length := number(s[1:]); length > 0 {
		p.use(n)
		return 1 + length
	}
	end := 1
	for end < len(s) && nameByte(s[end]) {
		end++
	}
	if end == len(s) || s[end] != '$' {
		return 1
	}
	tag := s[:end+1]
	return len(tag) + until(s[len(tag):], tag)
}

func number(s string) (n, length int) {
	for length < len(s) && '0' <= s[length] && s[length] <= '9' {
		length++
	}
	n, err := strconv.Atoi(s[:length])
	if err != nil || n == 0 || length > 5 {
		return 0, 0
	}
	return n, length
}

func nameByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
