package postgres

import (
	"context"
	"slices"
	"testing"

	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

// TestReleases inspects servers of other versions than Debian's: their views have the columns that findings need, plans
// and samples work, and no query is refused.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		release string
		kinds   []string // kinds of counters in addition to those of all versions
	}{
		// Before version 15, servers update most counters with a delay of up to half a second.
		{"13", nil}, {"14", nil},
		{"16", []string{"wal", "io"}},
		{"17", []string{"wal", "io", "checkpointer"}}, {"18", []string{"wal", "io", "checkpointer"}},
	} {
		t.Run(c.release, func(t *testing.T) {
			t.Parallel()
			s := countingRelease(t, c.release)
			d := newDatabase(t, s, books, "create index on book (id)", "analyze book")
			in := d.inspected(func(i *Inspector) {
				d.repeat(20, "select price from book where author = $1", "x")(i)
				d.repeat(5, "update book set price = 1 where id = $1", 6)(i)
				checkpoint(d, slices.Contains(c.kinds, "checkpointer"))
				inspecttest.Sample(t, i, 3)
			})
			inspecttest.Expect(t, in, FindSeqScan, "book")
			inspecttest.Silent(t, in, FindCount)
			load := &in.Windows[0]
			for _, kind := range append([]string{"database", "table", "index"}, c.kinds...) {
				if figuresOf(load, kind, "") == nil {
					t.Errorf("no counters of kind %s", kind)
				}
			}

			if v := figuresOf(load, "table", "public.book"); c.release > "15" && (v["seq_scan"] != 20 || v["n_tup_upd"] != 5) {
				t.Errorf("table: %v", v)
			}
			if v := figuresOf(load, "checkpointer", ""); v != nil && v["num_requested"] < 1 {
				t.Errorf("checkpointer: %v", v)
			}
			k := slices.IndexFunc(load.Statements, func(s record.Statement) bool { return s.Calls == 20 })
			if k < 0 || load.Statements[k].MeanNs <= 0 || load.Statements[k].More["shared_blks_hit"] <= 0 {
				t.Errorf("statements: %+v", load.Statements)
			}
			if in.Activity.Samples != 3 || len(in.Plans) == 0 || len(in.Missing) > 0 {
				t.Errorf("%d samples, %d plans, missing %+v", in.Activity.Samples, len(in.Plans), in.Missing)
			}
		})
	}
}

// checkpoint makes the server write its changed pages. If counted is set, it waits until the checkpointer has updated
// its counter, which happens shortly after the answer.
func checkpoint(d *database, counted bool) {
	d.t.Helper()
	const requested = "select num_requested::int from pg_stat_checkpointer"
	var before int
	if counted {
		if err := d.conn.QueryRow(context.Background(), requested).Scan(&before); err != nil {
			d.t.Fatal(err)
		}
	}
	sure(d.t, d.conn, "checkpoint")
	if counted {
		d.until(before+1, requested)
	}
}
