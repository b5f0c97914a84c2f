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

// QuoteText makes a text a literal of standard SQL.
func QuoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
