package postgres

import (
	"strings"

	"brunt/internal/sqltext"
)

// condition is one part of a conjunction in a plan: a column compared with something.
type condition struct {
	alias, column string
	operator      string // "=", "<", "~~", "IS NULL" … ; "" for a column that is a boolean itself
	param         int    // compared with the statement's parameter of this number
	literal       string // compared with this constant
	otherAlias    string // compared with another table's column
	otherColumn   string
	text          string // as it stands in the plan
}

// conditions takes the parts of a conjunction as EXPLAIN VERBOSE writes it: everything in parentheses,
// columns with their tables' aliases. What isn't a comparison of a column is left out, and so are all
// parts of a disjunction.
func conditions(text string) []condition {
	var words []sqltext.Token
	for _, t := range sqltext.Split(text) {
		if t.Kind != sqltext.Space {
			words = append(words, t)
		}
	}
	return conjunction(words)
}

func conjunction(words []sqltext.Token) []condition {
	words = unwrap(words)
	parts := splitAt(words, "AND")
	if len(parts) > 1 {
		var out []condition
		for _, p := range parts {
			out = append(out, conjunction(p)...)
		}
		return out
	}
	if len(words) == 0 || len(splitAt(words, "OR")) > 1 {
		return nil
	}
	if c, ok := comparison(words); ok {
		return []condition{c}
	}
	return nil
}

// unwrap takes off parentheses around all of it.
func unwrap(words []sqltext.Token) []sqltext.Token {
	for len(words) >= 2 && words[0].IsSign("(") && closingOf(words, 0) == len(words)-1 {
		words = words[1 : len(words)-1]
	}
	return words
}

// closingOf is where the parenthesis at a place is closed, or the end.
func closingOf(words []sqltext.Token, open int) int {
	depth := 0
	for i := open; i < len(words); i++ {
		switch {
		case words[i].IsSign("("):
			depth++
		case words[i].IsSign(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(words)
}

// splitAt splits at a word that stands outside of parentheses.
func splitAt(words []sqltext.Token, word string) (parts [][]sqltext.Token) {
	from := 0
	for i := 0; i < len(words); i++ {
		switch {
		case words[i].IsSign("("):
			i = min(closingOf(words, i), len(words)-1)
		case words[i].Is(word):
			parts, from = append(parts, words[from:i]), i+1
		}
	}
	return append(parts, words[from:])
}

// comparison reads "column operator value", whichever way round.
func comparison(words []sqltext.Token) (condition, bool) {
	c := condition{text: joined(words)}
	at, n := operatorIn(words)
	if n == 0 {
		not := words[0].Is("NOT")
		if not {
			words = words[1:]
		}
		var ok bool
		c.alias, c.column, ok = columnOf(words)
		c.operator = map[bool]string{true: "IS FALSE", false: "IS TRUE"}[not]
		return c, ok
	}
	left, right := words[:at], words[at+n:]
	for _, w := range words[at : at+n] {
		c.operator += w.Text
	}
	if words[at].Is("IS") {
		c.operator = "IS " + strings.ToUpper(joined(right))
		var ok bool
		c.alias, c.column, ok = columnOf(left)
		return c, ok
	}
	alias, column, ok := columnOf(left)
	if !ok {
		left, right = right, left
		c.operator = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}[c.operator]
		if c.operator == "" {
			c.operator = "="
		}
		if alias, column, ok = columnOf(left); !ok {
			return c, false
		}
	}
	c.alias, c.column = alias, column
	if a, col, ok := columnOf(right); ok {
		c.otherAlias, c.otherColumn = a, col
		return c, true
	}
	c.value(right)
	return c, true
}

// value notes what the column is compared with.
func (c *condition) value(words []sqltext.Token) {
	words = uncast(words)
	if len(words) > 1 && words[0].Is("ANY") {
		words = uncast(words[1:])
	}
	if len(words) != 1 {
		return
	}
	switch w := words[0]; w.Kind {
	case sqltext.Param:
		c.param, _ = w.Parameter()
	case sqltext.Text, sqltext.Number:
		c.literal = w.Text
	case sqltext.Word:
		if w.Is("true") || w.Is("false") {
			c.literal = w.Text
		}
	}
}

// operatorIn finds the comparison outside of parentheses: where, and how many tokens it takes.
func operatorIn(words []sqltext.Token) (at, n int) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w.IsSign("("):
			i = min(closingOf(words, i), len(words)-1)
		case w.Is("IS"):
			return i, 1
		case w.Kind == sqltext.Sign && strings.Contains("=<>!~", w.Text):
			end := i
			for end < len(words) && words[end].Kind == sqltext.Sign && strings.Contains("=<>!~*", words[end].Text) {
				end++
			}
			return i, end - i
		}
	}
	return 0, 0
}

// uncast takes off parentheses and casts.
func uncast(words []sqltext.Token) []sqltext.Token {
	for {
		before := len(words)
		words = unwrap(words)
		for i := 0; i < len(words); i++ {
			if words[i].IsSign("(") {
				i = min(closingOf(words, i), len(words)-1)
			} else if words[i].Kind == sqltext.Cast && isType(words[i+1:]) {
				words = words[:i]
			}
		}
		if len(words) == before {
			return words
		}
	}
}

// isType reports whether words name a type, and further ones that it is cast to.
func isType(words []sqltext.Token) bool {
	for _, w := range words {
		if !named(w) && w.Kind != sqltext.Number && w.Kind != sqltext.Cast && !strings.Contains("()[],.", w.Text) {
			return false
		}
	}
	return true
}

// columnOf reads "alias.column", with casts and parentheses around it.
func columnOf(words []sqltext.Token) (alias, column string, ok bool) {
	words = uncast(words)
	if len(words) != 3 || !words[1].IsSign(".") {
		return "", "", false
	}
	alias, column = unquote(words[0]), unquote(words[2])
	return alias, column, named(words[0]) && named(words[2]) && alias != "" && column != ""
}

func named(t sqltext.Token) bool { return t.Kind == sqltext.Word || t.Kind == sqltext.Quoted }

// unquote is an identifier's name.
func unquote(t sqltext.Token) string {
	if t.Kind == sqltext.Quoted && len(t.Text) > 1 {
		return strings.ReplaceAll(t.Text[1:len(t.Text)-1], `""`, `"`)
	}
	return t.Text
}

func joined(words []sqltext.Token) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && named(w) && (named(words[i-1]) || words[i-1].Kind == sqltext.Text) {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}
