package sqlconn

import (
	"brunt/internal/sqltext"
	"fmt"
	"strconv"
	"strings"
)

// Insert writes a statement that inserts so many rows: verb is "INSERT" or what stands for it; table
// and columns are quoted already.
func Insert(verb, table string, columns []string, rows int, numbered bool) string {
	return fmt.Sprintf("%s INTO %s (%s) VALUES %s", verb, table, strings.Join(columns, ", "), Tuples(rows, len(columns), numbered))
}

// Numbered is Insert with numbered parameters and names that it quotes. With replace rows that are there
// are overwritten, in Picodata's words.
func Numbered(table string, columns []string, rows int, replace bool) string {
	text := Insert("INSERT", sqltext.Quote(table), sqltext.QuoteAll(columns), rows, true)
	if replace {
		text += " ON CONFLICT DO REPLACE"
	}
	return text
}

// Tuples writes the parameters of so many rows: ($1, $2), ($3, $4), or (?, ?), (?, ?).
func Tuples(rows, columns int, numbered bool) string {
	b := make([]byte, 0, rows*columns*8)
	n := 0
	for r := range rows {
		if r > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		for c := range columns {
			if c > 0 {
				b = append(b, ", "...)
			}
			if n++; numbered {
				b = strconv.AppendInt(append(b, '$'), int64(n), 10)
			} else {
				b = append(b, '?')
			}
		}
		b = append(b, ')')
	}
	return string(b)
}
