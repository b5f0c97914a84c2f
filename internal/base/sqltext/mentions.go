package sqltext

import (
	"slices"
	"strings"
)

// Mentions reports whether SQL text names one of the given relations or functions, with or without a schema,
// quoted or not. It also looks inside string constants, which may hold statements. names must be as in the
// catalog.
func Mentions(s string, names []string) bool {
	return slices.ContainsFunc(Split(s), func(t Token) bool {
		switch t.Kind {
		case Word:
			return slices.Contains(names, strings.ToLower(t.Text))
		case Quoted:
			return slices.Contains(names, strings.ReplaceAll(strings.Trim(t.Text, `"`), `""`, `"`))
		case Text:
			return Mentions(within(t.Text), names)
		}
		return false
	})
}

// within returns the content of a constant without its quotes.
func within(constant string) string {
	open := strings.IndexAny(constant, "'$")
	if open < 0 {
		return ""
	}
	end := 1
	if constant[open] == '$' {
		end += strings.IndexByte(constant[open+1:], '$') + 1
	}
	if len(constant) < open+2*end {
		return ""
	}
	return constant[open+end : len(constant)-end]
}
