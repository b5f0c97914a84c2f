package plan

import (
	"strconv"
	"strings"

	"brunt/internal/sqltext"
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

// SQLPlaceholders finds the parameters of a statement outside of texts, names and comments.
func SQLPlaceholders(sql string) Placeholders {
	var p Placeholders
	for _, t := range sqltext.Split(sql) {
		if n, ok := t.Parameter(); ok && n > 0 {
			p.use(n)
		}
		if t.Kind == sqltext.Mark {
			p.Questions++
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
