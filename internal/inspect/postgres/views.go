package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// view is a statistics view of the server.
type view struct {
	kind  string // of record.Counters
	since int    // lowest server_version_num that has it; 0 means all
	query string // the column "name" names an object; all other numeric columns are its figures
}

// views lists the views, in the order in which they are read.
var views = [...]view{
	{"database", 0, "select datname as name, * from pg_stat_database where datname = current_database()"},
	{
		"table", 0, `select s.schemaname || '.' || s.relname as name, s.*, io.heap_blks_read, io.heap_blks_hit, io.idx_blks_read, io.idx_blks_hit,
		c.relpages, c.reltuples from pg_stat_user_tables s join pg_statio_user_tables io using (relid) join pg_class c on c.oid = relid`},
	{"index", 0, `select s.schemaname || '.' || s.indexrelname as name, s.*, io.idx_blks_read, io.idx_blks_hit, c.relpages
		from pg_stat_user_indexes s join pg_statio_user_indexes io using (indexrelid) join pg_class c on c.oid = indexrelid`},
	{"bgwriter", 0, "select 'bgwriter' as name, * from pg_stat_bgwriter"},
	{"checkpointer", 170000, "select 'checkpointer' as name, * from pg_stat_checkpointer"},
	{"wal", 140000, "select 'wal' as name, * from pg_stat_wal"},
	{
		"io", 160000, "select backend_type || ' ' || object || ' ' || context as name, * from pg_stat_io where coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0) > 0"},
}

// gauges are the figures that may also decrease.
var gauges = [...]string{"n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum", "numbackends",
	"relpages", "reltuples", "op_bytes", "sessions_open"}

// objects holds the figures of all objects, by kind and name.
type objects map[objectName]map[string]float64

type objectName struct{ kind, name string }

// readViews reads all views that the server has. Queries that the server refuses are skipped and reported to why.
func (s *session) readViews(ctx context.Context, why func(what string, err error)) (objects, error) {
	out := objects{}
	for _, v := range views {
		if s.version < v.since {
			continue
		}
		r, err := s.query(ctx, v.query)
		if err != nil {
			if ctx.Err() != nil || s.conn.IsClosed() {
				return nil, err
			}
			why("statistics of kind "+v.kind, err)
			continue
		}
		for i := range r.rows {
			out[objectName{v.kind, r.at(i, "name")}] = r.figures(i)
		}
	}
	return out, nil
}

// figures returns the numeric columns of a row that aren't null.
func (r *result) figures(row int) map[string]float64 {
	out := map[string]float64{}
	for i, name := range r.columns {
		field := r.rows[row][i]
		if !r.numeric[i] || field == nil {
			continue
		}
		if x, err := strconv.ParseFloat(*field, 64); err == nil {
			out[name] = x
		}
	}
	return out
}

// grew returns the changes of an object's figures between two readings; gauges keep their later value. A counter
// that has decreased was reset in between, so its whole value counts.
func grew(before, after map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(after))
	for name, x := range after {
		if slices.Contains(gauges[:], name) {
			out[name] = x
			continue
		}
		if old := before[name]; old <= x {
			x -= old
		}
		out[name] = x
	}
	return out
}

// since returns the changes of the objects since an earlier reading, for objects that were used.
func (o objects) since(before objects) []record.Counters {
	var out []record.Counters
	for _, v := range views {
		var of []record.Counters
		for name, values := range o {
			if name.kind != v.kind {
				continue
			}
			if c := (record.Counters{Kind: name.kind, Name: name.name, Values: grew(before[name], values)}); busy(&c) {
				of = append(of, c)
			}
		}
		slices.SortFunc(of, func(a, b record.Counters) int {
			return cmp.Or(cmp.Compare(work(&b), work(&a)), cmp.Compare(a.Name, b.Name))
		})
		out = append(out, of...)
	}
	return out
}

// busy reports whether an object is recorded: if a counter has grown. Databases, tables and indexes are always
// recorded, since some findings are about unused ones.
func busy(c *record.Counters) bool {
	return c.Kind == "index" || c.Kind == "table" || c.Kind == "database" || work(c) > 0
}

// work returns the sum of an object's counters, by which objects are sorted.
func work(c *record.Counters) (sum float64) {
	for name, x := range c.Values {
		if !slices.Contains(gauges[:], name) {
			sum += x
		}
	}
	return sum
}

// add sums the counters of two windows. Gauges have the value of the later window, b.
func add(a, b []record.Counters) []record.Counters {
	at := map[objectName]int{}
	out := make([]record.Counters, 0, len(a))
	for _, c := range a {
		at[objectName{c.Kind, c.Name}] = len(out)
		c.Values = maps.Clone(c.Values)
		out = append(out, c)
	}
	for _, c := range b {
		k, ok := at[objectName{c.Kind, c.Name}]
		if !ok {
			c.Values = maps.Clone(c.Values)
			out = append(out, c)
			continue
		}
		for name, x := range c.Values {
			if slices.Contains(gauges[:], name) {
				out[k].Values[name] = x
			} else {
				out[k].Values[name] += x
			}
		}
	}
	return out
}

// figuresOf returns the counters of one object in a window, or nil if it has none. The name "" matches any object.
func figuresOf(w *record.ServerWindow, kind, name string) map[string]float64 {
	for i := range w.Counters {
		if c := &w.Counters[i]; c.Kind == kind && (name == "" || c.Name == name) {
			return c.Values
		}
	}
	return nil
}

// lacking returns a notice that the server refused a query, with a remedy if rights are missing.
func lacking(what, user string, err error) record.Warning {
	w := record.Notice("inspect-missing", message.Text("what", what), message.Text("error", err.Error()))
	if denied(err) {
		w.Remedy = message.New("inspect-missing.remedy", message.Text("user", user))
	}
	return w
}
