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
	array         bool   // which is an array of values
	literal       string // compared with this constant
	otherAlias    string // compared with another table's column
	otherColumn   string
	text          string // as it stands in the plan
	// expression is what is compared where that isn't just the column: a function or an operator of it, or a cast, whose
	// type is in cast. It is written as an index has it, without the alias.
	expression string
	cast       string
	varies     bool // the expression holds a parameter, which an index can't
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
	if !c.compared(left) {
		left, right = right, left
		c.operator = mirrored(c.operator)
		if !c.compared(left) {
			return c, false
		}
	}
	if a, col, ok := columnOf(right); ok {
		c.otherAlias, c.otherColumn = a, col
		return c, true
	}
	c.value(right)
	return c, true
}

// mirrored is an operator with its sides exchanged; "" if there is none.
func mirrored(operator string) string {
	switch operator {
	case "<":
		return ">"
	case ">":
		return "<"
	case "<=":
		return ">="
	case ">=":
		return "<="
	case "=", "<>":
		return operator
	}
	return ""
}

// compared reads the side of a comparison that is a column or an expression of columns of one table.
func (c *condition) compared(words []sqltext.Token) (ok bool) {
	if c.alias, c.column, c.expression, c.varies = "", "", "", false; c.operator == "" {
		return false
	}
	if c.alias, c.column, ok = columnOf(words); ok {
		if words = unwrap(words); len(words) > 3 {
			c.expression = withoutAliases(words)
			for i := range words {
				if words[i].Kind == sqltext.Cast {
					c.cast = pretty(words[i+1:])
				}
			}
		}
		return true
	}
	words = unwrap(words)
	for i, w := range words {
		switch {
		case w.Kind == sqltext.Param:
			c.varies = true
		case w.Is("SubPlan"), w.Is("InitPlan"), w.Is("ANY"), w.Is("CASE"):
			return false
		case isColumn(words, i):
			alias := unquote(w)
			if c.column != "" && alias != c.alias {
				return false
			}
			c.alias = alias
			if c.column == "" {
				c.column = unquote(words[i+2])
			}
		}
	}
	if c.column == "" {
		return false
	}
	c.expression = withoutAliases(words)
	return true
}

// isColumn reports whether "alias.column" begins at a word, and not a function or a type with its schema.
func isColumn(words []sqltext.Token, i int) bool {
	return i+2 < len(words) && named(words[i]) && words[i+1].IsSign(".") && named(words[i+2]) &&
		(i+3 == len(words) || !words[i+3].IsSign("(")) && (i == 0 || words[i-1].Kind != sqltext.Cast)
}

// withoutAliases is an expression as an index of its table has it.
func withoutAliases(words []sqltext.Token) string {
	var out []sqltext.Token
	for i := 0; i < len(words); i++ {
		if isColumn(words, i) {
			i += 2
		}
		out = append(out, words[i])
	}
	return pretty(out)
}

// pretty writes tokens as people do.
func pretty(words []sqltext.Token) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && spaced(words[i-1], w) {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// spaced reports whether there is a space between two tokens.
func spaced(a, b sqltext.Token) bool {
	tight := func(t sqltext.Token, signs string) bool {
		return t.Kind == sqltext.Cast || t.Kind == sqltext.Sign && strings.Contains(signs, t.Text)
	}
	if tight(a, "([.") || tight(b, ")],.[") || named(a) && b.IsSign("(") {
		return false
	}
	between := a.Kind == sqltext.Sign && b.Kind == sqltext.Sign
	return !between || a.IsSign(",") || a.IsSign(")") || b.IsSign("(")
}

// disjunctions are the conditions of which one must hold: for each part of a conjunction that is a disjunction, a
// comparison from each of its sides. One with a side without a comparison is left out.
func disjunctions(text string) [][]condition {
	var words []sqltext.Token
	for _, t := range sqltext.Split(text) {
		if t.Kind != sqltext.Space {
			words = append(words, t)
		}
	}
	var out [][]condition
	for _, part := range splitAt(unwrap(words), "AND") {
		sides := splitAt(unwrap(part), "OR")
		if len(sides) < 2 {
			continue
		}
		var one []condition
		for _, side := range sides {
			if all := conjunction(side); len(all) > 0 {
				one = append(one, all[0])
			}
		}
		if len(one) == len(sides) {
			out = append(out, one)
		}
	}
	return out
}

// value notes what the column is compared with.
func (c *condition) value(words []sqltext.Token) {
	words = uncast(words)
	if len(words) > 1 && words[0].Is("ANY") {
		words, c.array = uncast(words[1:]), true
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
