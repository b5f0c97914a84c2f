package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

// A table without deletions has no reclaimable space, even if its rows used to be narrower.
func TestInsertedTableIsNoBloat(t *testing.T) {
	d := newDatabase(t, counting(t), "create table log as select g as id, 'x' as text from generate_series(1, 20000) g",
		"analyze log", "insert into log select g, repeat(md5(g::text), 20) from generate_series(1, 20000) g", "vacuum log")
	inspecttest.Silent(t, d.inspected(d.repeat(1, "select * from log where id = 5")), FindBloat)
}

// Rows that updates made wider don't match earlier statistics.
func TestWidenedTableIsNoBloat(t *testing.T) {
	d := newDatabase(t, counting(t), "create table log as select g as id, 'x' as text from generate_series(1, 20000) g",
		"analyze log", "update log set text = repeat(md5(id::text), 20)", "vacuum log")
	inspecttest.Silent(t, d.inspected(d.repeat(1, "select * from log where id = 5")), FindBloat)
}

func TestStatisticsOfOneRowAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t), "create table counter as select 1 as id, 0 as n", "analyze counter",
		"do $$ begin for i in 1..3000 loop update counter set n = n + 1; end loop; end $$")
	inspecttest.Silent(t, d.inspected(d.repeat(1, "select n from counter where id = 1")), FindStale)
}

// A server counts rows that a session inserted after the table was analyzed, and so counts them twice.
func TestAnalyzeAfterInsertIsFresh(t *testing.T) {
	d := newDatabase(t, counting(t), "begin; "+books+"; analyze book; commit")
	in := d.inspected(d.repeat(1, "select * from book where id = 5"))
	if v := figuresOf(&in.Windows[0], "table", "public.book"); v["n_mod_since_analyze"] < 20000 {
		t.Errorf("the server counts as it should: %v", v)
	}
	inspecttest.Silent(t, in, FindStale)
}

// Statements are explained in the server's normalized form, although the types of their parameters are lost.
func TestTypesOfConstantsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), people, "create table word (id int, text text)", "vacuum analyze person")
	for _, sql := range []string{
		"select count(*) from person where born > now() - interval '1 day'",
		"select count(*) from person where born > date '2001-01-01' and born < timestamp '2001-02-01'",
		"select count(*) from person where id = any('{1,2,3}')",
		"select count(*) from person where email = any(array['a', 'b'])",
		"select count(*) from person p join generate_series(1, 50) g on g = p.id",
		"insert into word select g, 'x' || g from generate_series(1, 5) g",
		"select date_trunc('hour', born), sum(2 + 3) from person where id < 5 group by 1",
		"select greatest(1, 2), round(1.5), 'a' || 'b', '{1}'::int[], now() - interval '1 hour' from person where id = 1",
		"select unnest('{1,2}'::int[]) + 1, coalesce('a', 'b')",
	} {
		t.Run(sql, func(t *testing.T) {
			in := d.inspected(d.repeat(2, sql))
			if len(in.Plans) == 0 || in.Plans[0].Failed != "" || len(in.Plans[0].Nodes) == 0 {
				t.Errorf("%+v", in.Plans)
			}
			if slices.ContainsFunc(in.Missing, func(w record.Warning) bool { return w.ID == "inspect-unexplained" }) {
				t.Errorf("%+v", in.Missing)
			}
		})
	}
	sent := "select count(*) from person where id = any($1)"
	in := d.inspected(d.repeat(2, sent, []int{1, 2, 3}))
	if p := in.Plans[0]; !p.Analyzed || p.Source != record.ArgumentsTable || p.Nodes[0].Rows != 1 {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsNotExplainedIsTold(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(func(i *Inspector) {
		d.repeat(2, "select count(*) from book")(i)
		d.repeat(2, "do $$ begin perform count(*) from book, generate_series(1, 20); end $$")(i)
		sure(t, d.conn, "create temporary table gone as select 1 as n")
		d.repeat(20, "select count(*) from gone, book")(i)
		sure(t, d.conn, "drop table gone")
	})
	k := slices.IndexFunc(in.Missing, func(w record.Warning) bool { return w.ID == "inspect-unexplained" })
	if k < 0 {
		t.Fatalf("%+v", in.Missing)
	}
	if text := in.Missing[k].Text.String(); !strings.Contains(text, "(2 of them)") || !strings.Contains(text, " %") {
		t.Error(text)
	}
}

// shopped executes the load of a service: a page is requested a number of times and reads a number of books each time.
func (d *database) shopped(done, each int) *record.Inspection {
	return d.inspected(func(i *Inspector) {
		for range done {
			d.repeat(1, "select id from book order by id limit 5")(i)
			d.repeat(each, "select name from book where id = $1", 7)(i)
		}
	}, inspect.Operation{Name: "page", Method: "GET", Done: float64(done)},
		inspect.Operation{Name: "other", Method: "GET", Done: 17})
}

func TestRepeatedStatementIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (id)", "vacuum analyze book")
	inspecttest.Expect(t, d.shopped(30, 8), FindRepeated, "select name from book where id = $1", "240 times", "8",
		"each page")
}

func TestStatementsOfOperationAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (id)", "vacuum analyze book")
	inspecttest.Silent(t, d.shopped(30, 2), FindRepeated)
}

// A statement that is executed for each row of another one is found for any number of rows. One that a separate
// operation executes isn't, although the numbers may be equal.
func TestStatementForEachRowIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (id)", "vacuum analyze book")
	load := func(i *Inspector) {
		for k := range 20 {
			n := 4 + 3*(k%3)
			d.repeat(1, "select id from book order by id limit $1", n)(i)
			d.repeat(n, "select name from book where id = $1", 7)(i)
		}
	}
	page := inspect.Operation{Name: "page", Method: "GET", Done: 20}
	inspecttest.Expect(t, d.inspected(load, page, inspect.Operation{Name: "other", Method: "POST", Done: 500}),
		FindRepeated, "select name from book where id = $1", "for each of the", "in page", "order by id limit")
	inspecttest.Silent(t, d.inspected(load, page, inspect.Operation{Name: "name", Method: "GET", Done: 137}), FindRepeated)
}

// pool opens connections, some of them idle in a transaction, and takes samples.
func (d *database) pool(n, idle int) *record.Inspection {
	return d.inspected(func(i *Inspector) {
		for k := range n {
			c := d.connect("shop")
			if k < idle {
				sure(d.t, c, "begin")
				sure(d.t, c, "select 1")
			}
		}
		d.until(idle, fmt.Sprintf("select count(*) from pg_stat_activity where application_name = 'shop' and state = '%s'",
			"idle in transaction"))
		inspecttest.Sample(d.t, i, leastSamples)
	})
}

func TestPoolIdleInTransactionsIsFound(t *testing.T) {
	inspecttest.Expect(t, newDatabase(t, counting(t)).pool(4, 3), FindIdleXact, "3", "of its 4 connections",
		"commit before it")
}

func TestPoolWithOneTransactionIsSilent(t *testing.T) {
	inspecttest.Silent(t, newDatabase(t, counting(t)).pool(6, 1), FindIdleXact)
}

// A statement that skips rows is explained with an OFFSET that is typical of the load, and not with the first one.
func TestOffsetOfTheLoadIsExplained(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "vacuum analyze book")
	sent := "select * from book order by id limit 20 offset $1"
	page := func(last int) inspect.Operation {
		return inspect.Operation{Name: "page", Statements: []string{sent}, Done: 5,
			Arguments: func(_, k int) ([]*string, bool) { return []*string{text(fmt.Sprint(last * k / 4))}, k < 5 }}
	}
	in := d.inspected(d.repeat(5, sent, 12000), page(16000))
	inspecttest.Expect(t, in, FindOffset, "8,000 rows to skip them")
	if p := in.Plans[0]; !slices.Equal(p.Arguments, []string{"'8000'"}) {
		t.Errorf("%+v", p)
	}
	inspecttest.Silent(t, d.inspected(d.repeat(5, sent, 40), page(80)), FindOffset)
}

// A killed attempt may have built one of two indexes that belong together.
func TestHalfOfTwoIndexesIsSettled(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	db, err := Open(context.Background(), d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &record.Proposal{DDL: "CREATE INDEX CONCURRENTLY one ON book (author); CREATE INDEX CONCURRENTLY two ON book (name)",
		Drop: dropIndex + "one; " + dropIndex + "two"}
	sure(t, d.conn, "create index one on book (author)")
	if there, err := db.Settle(context.Background(), p); err != nil || there {
		t.Errorf("%v, %v", there, err)
	}
	var n int
	if err := d.conn.QueryRow(context.Background(), "select count(*) from pg_indexes where tablename = 'book'").Scan(
		&n); err != nil || n != 0 {
		t.Errorf("%d indexes are left: %v", n, err)
	}
	d.carriedOut(p)
}

// If a service sends the arguments and the server doesn't keep constants, advice contains no invented constants.
func TestConstantsThatAreNotKnownAreNotAdvised(t *testing.T) {
	d := newDatabase(t, counting(t), people, "vacuum analyze person")
	in := d.inspected(d.repeat(3, "select * from person where doc->>'email' = $1", "u7"))
	f := inspecttest.Expect(t, in, FindSeqScan, "CREATE INDEX ON person ((doc ->> $")
	if strings.Contains(f.Advice.String(), "'x'") {
		t.Errorf("%s", f.Advice)
	}
	in = d.inspected(d.repeat(3, "select * from person where name like $1", "abc%"))
	inspecttest.Expect(t, in, FindSeqScan, "text_pattern_ops", "begin with fixed text")
}
