package sql

import (
	"strings"

	"brunt/internal/sqltext"
)

type token = sqltext.Token

const (
	space  = sqltext.Space
	word   = sqltext.Word
	quoted = sqltext.Quoted
	text   = sqltext.Text
	number = sqltext.Number
	param  = sqltext.Param
	mark   = sqltext.Mark
	cast   = sqltext.Cast
	sign   = sqltext.Sign

	primary = sqltext.Sign + 1 // an operand that the translator has put together
)

// after returns the index of the first token from i on that isn't space, or len(list).
func after(list []token, i int) int {
	for i < len(list) && list[i].Kind == space {
		i++
	}
	return i
}

// before returns the index of the last token up to i that isn't space, or -1.
func before(list []token, i int) int {
	for i >= 0 && list[i].Kind == space {
		i--
	}
	return i
}

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
