package postgres

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// extension is the pg_stat_statements extension of this database.
type extension struct {
	schema  string // quoted; "" if there is none
	missing record.Warning
}

// findStatements checks whether the server counts statements. If not, the result says what to do.
func (s *session) findStatements(ctx context.Context) (extension, error) {
	schema, err := s.text(ctx,
		"select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_stat_statements'")
	if err != nil {
		return extension{}, err
	}
	x := extension{missing: record.NewWarning("inspect-statements")}
	// Only a library that is loaded has settings.
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

// statementKey identifies an entry of pg_stat_statements.
type statementKey struct{ user, id, top string }

// tally holds the sums over all executions of one statement. deviation is the sum of squared deviations from the
// mean time; unlike standard deviations, such sums can be subtracted.
type tally struct {
	calls, rows, totalMs, deviation float64
	more                            map[string]float64
}

// renamed maps column names to the names under which the figures are recorded, since versions name the same figure
// differently. Columns mapped to "" are left out: they are held elsewhere or can't be split by window.
var renamed = map[string]string{
	"total_time": "total_exec_time", "mean_time": "", "min_time": "", "max_time": "", "stddev_time": "",
	"shared_blk_read_time": "blk_read_time", "shared_blk_write_time": "blk_write_time",
	"min_exec_time": "", "max_exec_time": "", "mean_plan_time": "", "min_plan_time": "", "max_plan_time": "",
	"stddev_plan_time": "",
	"queryid":          "", "mean_exec_time": "", "stddev_exec_time": "", "calls": "", "rows": "", "total_exec_time": "",
	"parallel_workers_to_launch": "", "parallel_workers_launched": "",
}

// readStatements reads the statistics of all statements executed in this database so far. hidden is the number of
// statements of other users that this user may not see.
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

// tally reads a row of pg_stat_statements of any version.
func (r *result) tally(row int) tally {
	f := r.figures(row)
	t := tally{calls: f["calls"], rows: f["rows"], totalMs: f["total_exec_time"] + f["total_time"],
		more: map[string]float64{}}
	stddev := f["stddev_exec_time"] + f["stddev_time"]
	t.deviation = stddev * stddev * t.calls // the view has the population's standard deviation
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

// since returns the changes since an earlier reading. If that has more calls, the statistics were reset or the
// statement was evicted in the meantime, and all of t counts.
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

// with returns the sum of two windows' tallies.
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

// statementTexts reads the texts of all statements of this database, by query ID.
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

// withoutSecrets removes passwords from a statement. The server stores statements that change roles, servers or
// subscriptions with their constants.
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

// statements returns the tallies as record.Statements, summed over users, without the inspector's own statements,
// sorted by total time. texts holds the statements' texts by ID.
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

const (
	leastEach = 5  // executions of one statement per operation
	leastDone = 10 // operations
	sameRows  = 0.02
	oneRow    = 1.5 // mean rows per call, at most, of a statement that is executed for each row of another one
)

// repeated is a statement that a service executes many times per operation.
type repeated struct {
	record.Statement
	calls, each float64 // in the whole load, warm-up included
	operation   string  // the operation that causes it; "" if unknown: each is then per operation of any kind
	rowsOf      string  // the statement for whose rows it is executed, one by one; "" if unknown
}

// repeatedBy finds the statements that a service executes many times per operation, by the counts of the whole
// load. These are, in order of preference: statements executed once for each row that another statement returned;
// statements executed a whole number of times per execution of exactly one operation; and statements executed many
// times per operation of any kind. The results have the statements' figures in shares, if they are there.
func repeatedBy(whole, shares []record.Statement, operations []inspect.Operation) (out []repeated) {
	all := 0.0
	for _, o := range operations {
		if len(o.Statements) > 0 {
			return nil // the load sends its statements itself, as often as the plan says
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

// parentOf returns the statement that returned as many rows as s has calls, several rows at a time; nil if there is
// none.
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

// multipleOf returns the only operation for which s is executed a whole number of times, and that number. It
// returns "" if there is no such operation or more than one.
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

// kept returns the statements to examine further: at most most of them, those with the largest share of the time.
func kept(list []record.Statement, most int, leastShare float64) []record.Statement {
	var out []record.Statement
	for _, s := range list {
		if len(out) < most && s.Share >= leastShare && explainable(s.Text) {
			out = append(out, s)
		}
	}
	return out
}

// explainable reports whether EXPLAIN accepts a statement.
func explainable(text string) bool {
	return reads(text) || slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "MERGE"}, sqltext.FirstWord(text))
}

// reads reports whether a statement seems to change nothing, judged by its first word. A read-only transaction
// enforces this when it is executed.
func reads(text string) bool {
	return slices.Contains([]string{"SELECT", "WITH", "VALUES", "TABLE"}, sqltext.FirstWord(text))
}
