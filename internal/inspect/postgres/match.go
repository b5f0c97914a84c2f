package postgres

import (
	"math"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/sqltext"
)

// normal is a statement without what the server's normalisation and different writing change: spaces,
// comments, letter case, and the values in it.
func normal(text string) string {
	var b strings.Builder
	for _, t := range sqltext.Split(strings.TrimRight(text, "; \t\r\n")) {
		switch t.Kind {
		case sqltext.Space:
			continue
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

// matches says by a statement's id which operations caused it, and how that is known.
type matches map[string]record.Statement

// match says which operations caused the statements of the whole load, warm-up included: those that send
// the same text, or else those that were done just as often as the statement was executed.
func match(list []record.Statement, operations []inspect.Operation) matches {
	out := matches{}
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

// put notes in statements what is known of them.
func (m matches) put(list []record.Statement) {
	for i := range list {
		list[i].Operations, list[i].Match = m[list[i].ID].Operations, m[list[i].ID].Match
	}
}

// mostTold bounds how many operations a statement may be said to belong to by counts.
const mostTold = 2

// byCount lists the operations whose number fits a statement's; nil if none or too many do.
func byCount(s *record.Statement, operations []inspect.Operation) []string {
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

// methodOf is the HTTP method by which a service would usually be asked for a statement.
func methodOf(text string) string {
	switch sqltext.FirstWord(text) {
	case "INSERT":
		return "POST"
	case "UPDATE":
		return "PUT"
	case "DELETE":
		return "DELETE"
	}
	return "GET"
}

// kept is the statements that are looked at closer: those that took most of the time.
func kept(list []record.Statement, most int, leastShare float64) []record.Statement {
	var out []record.Statement
	for _, s := range list {
		if len(out) < most && s.Share >= leastShare && explainable(s.Text) {
			out = append(out, s)
		}
	}
	return out
}

// explainable reports whether EXPLAIN takes a statement.
func explainable(text string) bool {
	switch sqltext.FirstWord(text) {
	case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "TABLE":
		return true
	}
	return false
}

// reads reports whether a statement's first word promises that it changes nothing. The server is held to
// that by a transaction that is read only.
func reads(text string) bool {
	switch sqltext.FirstWord(text) {
	case "SELECT", "WITH", "VALUES", "TABLE":
		return true
	}
	return false
}
