package inspect

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// Normal returns a statement without the differences that the server's normalization and different spelling make:
// spaces, comments, letter case and constants.
func Normal(text string) string {
	var b strings.Builder
	for _, t := range sqltext.Words(strings.TrimRight(text, "; \t\r\n")) {
		switch t.Kind {
		case sqltext.Number, sqltext.Text, sqltext.Param, sqltext.Mark:
			b.WriteString(" ?")
		case sqltext.Word:
			b.WriteString(" " + strings.ToLower(t.Text))
		default:
			b.WriteString(" " + t.Text)
		}
	}
	return b.String()
}

// Matches tells by statement ID which operations caused a statement, and how this is known.
type Matches map[string]record.Statement

// Match finds the operations that caused the statements of the whole load, warm-up included: operations that send
// the same text or else operations that were executed as often as the statement. normal makes texts comparable; see
// Normal.
func Match(list []record.Statement, operations []Operation, normal func(string) string) Matches {
	out := Matches{}
	for _, s := range list {
		text := normal(s.Text)
		for _, o := range operations {
			if slices.ContainsFunc(o.Statements, func(sent string) bool { return normal(sent) == text }) {
				s.Operations, s.Match = append(s.Operations, o.Name), record.MatchText
			}
		}
		if s.Operations == nil {
			if s.Operations = byCount(&s, operations); s.Operations != nil {
				s.Match = record.MatchCount
			}
		}
		out[s.ID] = s
	}
	return out
}

// Put stores the matches in statements.
func (m Matches) Put(list []record.Statement) {
	for i := range list {
		list[i].Operations, list[i].Match = m[list[i].ID].Operations, m[list[i].ID].Match
	}
}

// mostTold is the largest number of operations that a statement may be attributed to by counts.
const mostTold = 2

// byCount returns the operations that were executed as often as the statement; nil if there are none or too many.
func byCount(s *record.Statement, operations []Operation) []string {
	var names, likely []string
	for _, o := range operations {
		if len(o.Statements) > 0 || o.Done == 0 || math.Abs(s.Calls-o.Done) > o.Uncertain+1 {
			continue
		}
		names = append(names, o.Name)
		if o.Method != "" && o.Method == methodOf(s.Text) {
			likely = append(likely, o.Name)
		}
	}
	if len(likely) > 0 {
		names = likely
	}
	if len(names) > mostTold {
		return nil
	}
	return names
}

// methodOf returns the HTTP method with which a service usually exposes a statement.
func methodOf(text string) string {
	method := map[string]string{"INSERT": "POST", "UPDATE": "PUT", "DELETE": "DELETE"}[sqltext.FirstWord(text)]
	return cmp.Or(method, "GET")
}

// Numeric reports whether the parameter with a number, from 0, of an operation's statement is sent as a number.
func Numeric(o *Operation, statement string, n int) bool {
	for _, r := range o.Requests {
		if r.Verb == protocol.SQL && r.Text == statement {
			return n < len(r.Params) && slices.Contains(numbers, r.Params[n])
		}
	}
	return false
}

// numbers are the kinds of values that are sent as numbers.
var numbers = []gen.Kind{gen.Bool, gen.Int, gen.Uint, gen.Float, gen.Decimal}
