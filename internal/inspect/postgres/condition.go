package postgres

import (
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// condition is one term of a conjunction in a plan: the comparison of a column.
type condition struct {
	alias, column string
	operator      string // "=", "<", "~~", "IS NULL" and so on; "IS TRUE" for a column that is itself a boolean
	param         int    // number of the parameter that it is compared with; 0 if none
	array         bool   // whether that parameter is an array of values
	literal       string // the constant that it is compared with
	otherAlias    string // the other table's column that it is compared with
	otherColumn   string
	text          string // as in the plan
	// expression is set if a function, an operator or a cast of the column is compared instead of the column
	// itself. It is written as in an index, without the alias. For a cast, cast is its type.
	expression string
	cast       string
	varies     bool // whether the expression contains a parameter, which an index can't
}

// conditions parses a conjunction as EXPLAIN VERBOSE writes it: everything in parentheses, and columns with the
// aliases of their tables. It skips terms that don't compare a column, and all parts of a disjunction.
func conditions(text string) []condition { return conjunction(sqltext.Words(text)) }

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

// unwrap removes parentheses that enclose all of the words.
func unwrap(words []sqltext.Token) []sqltext.Token {
	for len(words) >= 2 && words[0].IsSign("(") && closingOf(words, 0) == len(words)-1 {
		words = words[1 : len(words)-1]
	}
	return words
}

// closingOf returns the index of the parenthesis that closes the one at open, or len(words).
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

// splitAt splits words at a word that is outside of parentheses.
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

// comparison parses "column operator value" or "value operator column".
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
		c.operator = mirrored[c.operator]
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

// mirrored maps operators to those that give the same result with their operands exchanged.
var mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}

// compared parses the operand that is a column, or an expression of columns of one table.
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

// isColumn reports whether words[i:] starts with "alias.column", rather than with a qualified function or type.
func isColumn(words []sqltext.Token, i int) bool {
	return i+2 < len(words) && named(words[i]) && words[i+1].IsSign(".") && named(words[i+2]) &&
		(i+3 == len(words) || !words[i+3].IsSign("(")) && (i == 0 || words[i-1].Kind != sqltext.Cast)
}

// withoutAliases returns an expression in the form used in an index of its table.
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

// pretty joins tokens with the usual spaces.
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

// spaced reports whether there should be a space between two tokens.
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

// disjunctions returns, for each term of a conjunction that is a disjunction, one comparison from each of its
// sides. A disjunction with a side that contains no comparison is skipped.
func disjunctions(text string) [][]condition {
	var out [][]condition
	for _, part := range splitAt(unwrap(sqltext.Words(text)), "AND") {
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

// value stores what the column is compared with.
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

// operatorSigns are the characters of which PostgreSQL's operators consist (its documentation, "CREATE OPERATOR").
// EXPLAIN puts every operand that is an expression in parentheses, so all operators outside of them compare.
const operatorSigns = "+-*/<>=~!@#%^&|`?"

// operatorIn finds the comparison operator outside of parentheses. It returns its index and its number of tokens,
// which is 0 if there is none.
func operatorIn(words []sqltext.Token) (at, n int) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w.IsSign("("):
			i = min(closingOf(words, i), len(words)-1)
		case w.Is("IS"):
			return i, 1
		case w.Kind == sqltext.Sign && strings.Contains(operatorSigns, w.Text):
			end := i
			for end < len(words) && words[end].Kind == sqltext.Sign && strings.Contains(operatorSigns, words[end].Text) {
				end++
			}
			return i, end - i
		}
	}
	return 0, 0
}

// uncast removes enclosing parentheses and casts.
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

// isType reports whether words are a type name, possibly followed by further casts.
func isType(words []sqltext.Token) bool {
	return !slices.ContainsFunc(words, func(w sqltext.Token) bool {
		return !named(w) && w.Kind != sqltext.Number && w.Kind != sqltext.Cast && !strings.Contains("()[],.", w.Text)
	})
}

// columnOf parses "alias.column", possibly with casts and parentheses around it.
func columnOf(words []sqltext.Token) (alias, column string, ok bool) {
	words = uncast(words)
	if len(words) != 3 || !words[1].IsSign(".") {
		return "", "", false
	}
	alias, column = unquote(words[0]), unquote(words[2])
	return alias, column, named(words[0]) && named(words[2]) && alias != "" && column != ""
}

func named(t sqltext.Token) bool { return t.Kind == sqltext.Word || t.Kind == sqltext.Quoted }

// unquote returns the name of an identifier.
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
