package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/sqltext"
)

// harmless lists functions of PostgreSQL that are volatile but change nothing, so that they can be executed to
// explain a statement.
var harmless = []string{
	"clock_timestamp", "gen_random_uuid", "random", "random_normal", "setseed", "timeofday", "uuidv4", "uuidv7",
}

// called matches the names before opening parentheses in the expressions of a plan.
var called = lazyregexp.New(`("(?:[^"]|"")+"|[\pL_][\pL\pN_$]*)\(`)

// volatile returns the volatile functions that a statement calls, except for harmless ones. It looks at the
// statement's text and at its plan, in which views are resolved and SQL functions inlined. A name counts as
// volatile if any function with that name is, so that none is missed.
func (s *session) volatile(ctx context.Context, text, plan string) ([]string, error) {
	var names []string
	add := func(name string) {
		if unquoted, ok := strings.CutPrefix(name, `"`); ok {
			name = strings.ReplaceAll(strings.TrimSuffix(unquoted, `"`), `""`, `"`)
		} else {
			name = strings.ToLower(name)
		}
		if quoted := sqltext.QuoteText(name); !slices.Contains(names, quoted) {
			names = append(names, quoted)
		}
	}
	last := ""
	for _, t := range sqltext.Words(text) {
		if t.IsSign("(") && last != "" {
			add(last)
		}
		last = ""
		if t.Kind == sqltext.Word || t.Kind == sqltext.Quoted {
			last = t.Text
		}
	}
	tokens := json.NewDecoder(strings.NewReader(plan))
	for t, err := tokens.Token(); err == nil; t, err = tokens.Token() {
		if expression, ok := t.(string); ok {
			for _, m := range called().FindAllStringSubmatch(expression, -1) {
				add(m[1])
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	r, err := s.query(ctx, fmt.Sprintf(`select distinct proname::text as name from pg_catalog.pg_proc
		where provolatile = 'v' and proname in (%s)
		and not (pronamespace = 'pg_catalog'::regnamespace and proname in ('%s')) order by 1`,
		strings.Join(names, ", "), strings.Join(harmless, "', '")))
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range r.rows {
		found = append(found, r.at(i, "name"))
	}
	return found, nil
}
