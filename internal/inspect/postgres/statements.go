package postgres

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/secret"
	"brunt/internal/sqltext"
)

// extension is pg_stat_statements as this database has it.
type extension struct {
	schema  string // quoted; "" if there is none
	missing record.Warning
}

// findStatements finds out whether the server counts statements, and what to do if not.
func (s *session) findStatements(ctx context.Context) (extension, error) {
	schema, err := s.text(ctx,
		"select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_stat_statements'")
	if err != nil {
		return extension{}, err
	}
	x := extension{missing: record.NewWarning("inspect-statements")}
	// Loaded or not: only a library that is loaded has its settings.
	loaded, err := s.text(ctx, "select count(*) from pg_settings where name = 'pg_stat_statements.max'")
	switch {
	case err != nil:
		return extension{}, err
	case loaded == "0":
	case schema == "":
		x.missing.Remedy = message.New("inspect-statements.loaded")
	default:
		x.schema = sqltext.Quote(schema)
		x.missing = record.Warning{}
	}
	return x, nil
}

// statementKey is what pg_stat_statements counts apart.
type statementKey struct{ user, id, top string }

// tally is the sums of one statement's executions. deviation is the sum of squared deviations from the
// mean time, which unlike a standard deviation can be taken apart again.
type tally struct {
	calls, rows, totalMs, deviation float64
	more                            map[string]float64
}

// renamed are columns of later versions by the names that earlier ones have for the same; those that
// can't be taken apart by window ("") are left out.
var renamed = map[string]string{
	"total_time": "total_exec_time", "mean_time": "", "min_time": "", "max_time": "", "stddev_time": "",
	"shared_blk_read_time": "blk_read_time", "shared_blk_write_time": "blk_write_time",
	"min_exec_time": "", "max_exec_time": "", "mean_plan_time": "", "min_plan_time": "", "max_plan_time": "",
	"stddev_plan_time": "",
	"queryid":          "", "mean_exec_time": "", "stddev_exec_time": "", "calls": "", "rows": "", "total_exec_time": "",
	"parallel_workers_to_launch": "", "parallel_workers_launched": "",
}

// readStatements reads what was executed in this database so far. hidden says how many statements of
// other users this user may not see.
func (s *session) readStatements(ctx context.Context, schema string) (all map[statementKey]tally, hidden int,
	err error) {
	r, err := s.query(
		ctx, "select * from "+schema+".pg_stat_statements(false) where dbid = (select oid from pg_database where datname = current_database())")
	if err != nil {
		return nil, 0, err
	}
	all = make(map[statementKey]tally, len(r.rows))
	for i := range r.rows {
		k := statementKey{r.at(i, "userid"), r.at(i, "queryid"), r.at(i, "toplevel")}
		if k.id == "" {
			hidden++
			continue
		}
		all[k] = r.tally(i)
	}
	return all, hidden, nil
}

// tally reads a row, whichever version's it is.
func (r *result) tally(row int) tally {
	f := r.figures(row)
	t := tally{calls: f["calls"], rows: f["rows"], totalMs: f["total_exec_time"] + f["total_time"],
		more: map[string]float64{}}
	stddev := f["stddev_exec_time"] + f["stddev_time"]
	t.deviation = stddev * stddev * t.calls // the view's is of the population
	for name, x := range f {
		if to, ok := renamed[name]; ok {
			if to == "" || to == "total_exec_time" {
				continue
			}
			name = to
		}
		if x != 0 {
			t.more[name] = x
		}
	}
	return t
}

// since is what came after an earlier reading. One with fewer calls means that the statistics were
// reset, or the statement evicted, in the meantime.
func (t tally) since(before tally) tally {
	if before.calls > t.calls {
		return t
	}
	n := t.calls - before.calls
	out := tally{calls: n, rows: t.rows - before.rows, totalMs: t.totalMs - before.totalMs,
		more: grew(before.more, t.more)}
	if n > 0 {
		// Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
		// variances" (1979), solved for the later of the two parts.
		between := 0.0
		if before.calls > 0 {
			d := out.totalMs/n - before.totalMs/before.calls
			between = d * d * n * before.calls / t.calls
		}
		out.deviation = max(t.deviation-before.deviation-between, 0)
	}
	return out
}

// with is two windows' together.
func (t tally) with(o tally) tally {
	if t.calls == 0 {
		return o
	}
	if o.calls == 0 {
		return t
	}
	n, d := t.calls+o.calls, t.totalMs/t.calls-o.totalMs/o.calls
	sum := tally{calls: n, rows: t.rows + o.rows, totalMs: t.totalMs + o.totalMs,
		deviation: t.deviation + o.deviation + d*d*t.calls*o.calls/n, more: map[string]float64{}}
	for _, m := range []map[string]float64{t.more, o.more} {
		for name, x := range m {
			sum.more[name] += x
		}
	}
	return sum
}

// statementTexts reads the texts of all statements of this database.
func (s *session) statementTexts(ctx context.Context, schema string) (map[string]string, error) {
	r, err := s.query(
		ctx, "select queryid, query from "+schema+".pg_stat_statements(true) where dbid = (select oid from pg_database where datname = current_database())")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(r.rows))
	for i := range r.rows {
		out[r.at(i, "queryid")] = withoutSecrets(r.at(i, "query"))
	}
	return out, nil
}

// withoutSecrets takes passwords out of a statement. The server keeps the values of those that change
// roles, servers and subscriptions as they were written.
func withoutSecrets(text string) string {
	if !explainable(text) && hasWord(text, "PASSWORD") {
		var b strings.Builder
		for _, t := range sqltext.Split(text) {
			if t.Kind == sqltext.Text {
				t.Text = "'" + secret.Hidden + "'"
			}
			b.WriteString(t.Text)
		}
		text = b.String()
	}
	return secret.Text(text)
}

// statements are tallies for the record, whichever user executed them, without the inspector's own. texts
// gives their texts.
func statements(all map[statementKey]tally, texts map[string]string) []record.Statement {
	byID := map[string]tally{}
	for k, t := range all {
		if t.calls > 0 && !strings.Contains(texts[k.id], tag) && k.top != "f" {
			byID[k.id] = byID[k.id].with(t)
		}
	}
	const nsPerMs = 1e6
	var out []record.Statement
	sum := 0.0
	for id, t := range byID {
		sum += t.totalMs
		s := record.Statement{ID: id, Text: texts[id], Calls: t.calls, Rows: t.rows, TotalNs: t.totalMs * nsPerMs,
			MeanNs: t.totalMs / t.calls * nsPerMs, StddevNs: math.Sqrt(t.deviation/t.calls) * nsPerMs,
			More: map[string]float64{}}
		for name, x := range t.more {
			if x != 0 && name != "userid" && name != "dbid" {
				s.More[name] = x
			}
		}
		out = append(out, s)
	}
	for i := range out {
		out[i].Share = out[i].TotalNs / max(sum*nsPerMs, 1)
	}
	slices.SortFunc(out, func(a, b record.Statement) int {
		return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.ID, b.ID))
	})
	return out
}

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

const (
	leastEach = 5  // executions of one statement for each operation
	leastDone = 10 // operations
	sameRows  = 0.02
	oneRow    = 1.5 // rows a call, on average, of a statement that is executed for each of another's rows
)

// repeated is a statement that a service executes many times for each operation.
type repeated struct {
	record.Statement
	calls, each float64 // in the whole load, warm-up included
	operation   string  // that causes it; "" if that isn't known: each is then of all operations together
	rowsOf      string  // the statement whose rows it is executed for, one by one; "" if that isn't known
}

// repeatedBy finds the statements that a service executes many times for each operation, by the whole load's numbers:
// those executed once for each row that another one returned; those executed a whole number of times for each time
// that one operation was done, and only one; and those executed as many times for each of all operations.
func repeatedBy(whole, shares []record.Statement, operations []inspect.Operation) (out []repeated) {
	all := 0.0
	for _, o := range operations {
		if len(o.Statements) > 0 {
			return nil // the load sends its statements itself, as often as it says
		}
		all += o.Done
	}
	if all < leastDone {
		return nil
	}
	for _, s := range whole {
		if !explainable(s.Text) || s.Rows > oneRow*s.Calls || s.Operations != nil {
			continue
		}
		r := repeated{Statement: s, calls: s.Calls}
		if p := parentOf(&s, whole); p != nil {
			r.each, r.rowsOf = s.Calls/p.Calls, p.Text
			if len(p.Operations) == 1 {
				r.operation = p.Operations[0]
			}
		} else if r.operation, r.each = multipleOf(&s, operations); r.operation == "" {
			r.each = s.Calls / all
		}
		if at := slices.IndexFunc(shares, func(o record.Statement) bool { return o.ID == s.ID }); at >= 0 {
			r.Statement = shares[at]
		}
		if r.each >= leastEach {
			out = append(out, r)
		}
	}
	return out
}

// parentOf is the statement that returned as many rows as s was executed, several at a time; nil if there is none.
func parentOf(s *record.Statement, all []record.Statement) *record.Statement {
	for i := range all {
		p := &all[i]
		if p.ID != s.ID && reads(p.Text) && p.Calls >= leastDone && p.Rows >= leastEach*p.Calls &&
			math.Abs(p.Rows-s.Calls) <= sameRows*p.Rows {
			return p
		}
	}
	return nil
}

// multipleOf is the only operation of which s is executed a whole number of times each, and how many that is.
func multipleOf(s *record.Statement, operations []inspect.Operation) (name string, each float64) {
	for _, o := range operations {
		n := math.Round(s.Calls / max(o.Done, 1))
		if o.Done < leastDone || n < leastEach || math.Abs(s.Calls-n*o.Done) > n*o.Uncertain+1 {
			continue
		}
		if name != "" {
			return "", 0
		}
		name, each = o.Name, s.Calls/o.Done
	}
	return name, each
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
