package postgres

import (
	"context"
	"slices"
	"testing"

	"brunt/internal/record"
)

// TestReleases asks servers of other versions than Debian's: the views that they have, with the columns that
// findings need, plans, samples, and nothing that is refused.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		release string
		kinds   []string // of counters that it has next to those of all versions
	}{
		// Before 15 servers count most things when they get to it, up to half a second later.
		{"13", nil}, {"14", nil},
		{"16", []string{"wal", "io"}},
		{"17", []string{"wal", "io", "checkpointer"}}, {"18", []string{"wal", "io", "checkpointer"}},
	} {
		t.Run(c.release, func(t *testing.T) {
			s := countingRelease(t, c.release)
			d := newDatabase(t, s, books, "create index on book (id)", "analyze book")
			in := d.inspected(func(i *Inspector) {
				d.repeat(20, "select price from book where author = $1", "x")(i)
				d.repeat(5, "update book set price = 1 where id = $1", 6)(i)
				checkpoint(d, slices.Contains(c.kinds, "checkpointer"))
				samples(t, i, 3)
			})
			expect(t, in, FindSeqScan, "book")
			silent(t, in, FindCount)
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

// checkpoint makes the server write its changed pages. counted waits until the checkpointer has counted that, which it
// does a little after it has answered.
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
