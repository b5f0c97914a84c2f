package sqlite

import (
	"strconv"
	"strings"
)

// parameters is the greatest number of a statement's parameters ($1, ?1 or ?, which counts on);
// what is quoted or commented out doesn't count.
func parameters(text string) int {
	most := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = after(text, i+1, string(c))
		case c == '[':
			i = after(text, i+1, "]")
		case strings.HasPrefix(text[i:], "--"):
			i = after(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = after(text, i+2, "*/")
		case c == '?' || c == '$':
			end := i + 1
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			if n, err := strconv.Atoi(text[i+1 : end]); err == nil {
				most = max(most, n)
			} else if c == '?' {
				most++
			}
			i = end
		case isWord(string(c)):
			for i < len(text) && (isWord(text[i:i+1]) || text[i] == '$') { // a dollar sign inside a name
				i++
			}
		default:
			i++
		}
	}
	return most
}

// after returns the place after the first mark from i on, or the end.
func after(text string, i int, mark string) int {
	if k := strings.Index(text[i:], mark); k >= 0 {
		return i + k + len(mark)
	}
	return len(text)
}
