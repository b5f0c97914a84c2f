package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// guesses are the types that are tried in turn for a parameter whose type the server can't infer.
var guesses = [...]string{"unknown", "integer", "text", "timestamp with time zone", "numeric", "interval", "integer[]",
	"text[]", "jsonb"}

// mostGuesses limits how often one statement is prepared.
const mostGuesses = 40

// prefixed are types that may precede a constant, and thus a parameter that pg_stat_statements has put in its
// place.
var prefixed = [...]string{"INTERVAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMETZ", "UUID", "JSON", "JSONB",
	"NUMERIC", "TEXT", "INET", "BYTEA"}

// prepare prepares a statement as pg_stat_statements normalizes it, with $n for constants, and returns the types of
// its parameters. If the server can't infer them, for example for an overloaded function, they are guessed.
func (s *session) prepare(ctx context.Context, name, text string) (types []string, guessed bool, err error) {
	words := sqltext.Split(typedConstants(strings.TrimRight(text, "; \t\r\n")))
	var b strings.Builder
	most := 0
	for _, w := range words {
		b.WriteString(w.Text)
		if n, ok := w.Parameter(); ok {
			most = max(most, n)
		}
	}
	guess := make([]int, min(most, 1000)) // index of each parameter's current guess
	var first error
	for attempt := 0; ; attempt++ {
		head := "prepare " + name
		if guessed {
			var list []string
			for _, g := range guess {
				list = append(list, guesses[g])
			}
			head += " (" + strings.Join(list, ", ") + ")"
		}
		head += " as "
		if _, err = s.plain(ctx, head+b.String()); err == nil {
			break
		}
		first = cmp.Or(first, err)
		var e *serverError
		if !errors.As(err, &e) || !slices.Contains([]string{"42725", "42P18", "42804", "42883", "42P08", "22P02"}, e.code) {
			return nil, false, first
		}
		if guessed = attempt < mostGuesses && next(guess, concerned(words, e, len([]rune(head)))); !guessed {
			return nil, false, first
		}
	}
	r, err := s.query(ctx, "select unnest(parameter_types)::text as type from pg_prepared_statements where name = '"+name+"'")
	if err != nil {
		return nil, false, err
	}
	for i := range r.rows {
		types = append(types, r.at(i, "type"))
	}
	return types, guessed, nil
}

// next moves parameters to their next guesses. It reports whether any of them has one.
func next(guess []int, which []int) (moved bool) {
	for _, n := range which {
		if n >= 1 && n <= len(guess) && guess[n-1]+1 < len(guesses) {
			guess[n-1]++
			moved = true
		}
	}
	return moved
}

// concerned returns the numbers of the parameters that an error is about: the one that it names, those in the
// parentheses of the function that it points to, those near the operator, or else all. head is the number of
// characters before the words.
func concerned(words []sqltext.Token, e *serverError, head int) []int {
	var n int
	if _, err := fmt.Sscanf(e.text, "could not determine data type of parameter $%d", &n); err == nil {
		return []int{n}
	}
	at, place := -1, head+1
	for i, w := range words {
		if place == e.position {
			at = i
		}
		place += len([]rune(w.Text))
	}
	if at < 0 {
		return parameters(words)
	}
	if named(words[at]) {
		open := at
		for open < len(words) && (named(words[open]) || words[open].IsSign(".")) {
			open++
		}
		if open < len(words) && words[open].IsSign("(") {
			if in := parameters(words[open:min(closingOf(words, open), len(words))]); len(in) > 0 {
				return in
			}
		}
	}
	near := parameters(words[max(at-3, 0):min(at+6, len(words))])
	if len(near) == 0 {
		return parameters(words)
	}
	return near
}

// parameters returns the numbers of the parameters among the words, without duplicates.
func parameters(words []sqltext.Token) (out []int) {
	for _, w := range words {
		if n, ok := w.Parameter(); ok && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// typedConstants turns typed constants into casts: interval $1, normalized from interval '1 day', becomes cast($1
// as interval). The unit after an interval is dropped.
func typedConstants(text string) string {
	words := sqltext.Split(text)
	var b strings.Builder
	for i := 0; i < len(words); i++ {
		w := words[i]
		after := i + 1
		if after < len(words) && words[after].Kind == sqltext.Space {
			after++
		}
		if w.Kind != sqltext.Word || after >= len(words) || words[after].Kind != sqltext.Param ||
			!slices.Contains(prefixed[:], strings.ToUpper(w.Text)) || i > 0 && words[i-1].Kind == sqltext.Cast {
			b.WriteString(w.Text)
			continue
		}
		b.WriteString("cast(" + words[after].Text + " as " + w.Text + ")")
		i = after
		if w.Is("INTERVAL") && i+2 < len(words) && words[i+1].Kind == sqltext.Space && isUnit(words[i+2]) {
			i += 2
		}
	}
	return b.String()
}

// isUnit reports whether a word is the unit of an interval.
func isUnit(w sqltext.Token) bool {
	return slices.ContainsFunc([]string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}, w.Is)
}
