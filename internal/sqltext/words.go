package sqltext

import "strings"

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
