package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// proposals returns the advice after a load.
func (d *database) proposals(hypothetically bool, load ...string) []record.Proposal {
	d.t.Helper()
	in := d.inspected(func(i *Inspector) {
		for _, sql := range load {
			d.repeat(3, sql)(i)
		}
	})
	if hypothetically {
		sure(d.t, d.conn, "create extension hypopg")
	}
	ctx := context.Background()
	db, err := Open(ctx, d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	db.Build = !hypothetically
	list, err := db.Propose(ctx, []record.Inspection{*in})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

var bookLoad = []string{
	"select * from book where author = 'a1'", "select * from book where name = 'n1'",
	"select * from book where name = 'n1' and author = 'a1'",
	"update book set price = 1 where author = 'a1' and name = 'n1'",
	"delete from book where author = 'a1' and name = 'n1'",
	"select count(id) from book", "select * from book order by id limit 20 offset 4000",
	"insert into book values (0, 'a', 'b', 1)",
}

func TestIndexesOfBookAreProposed(t *testing.T) {
	for _, hypothetically := range []bool{true, false} {
		t.Run(map[bool]string{true: "hypothetical", false: "built"}[hypothetically], func(t *testing.T) {
			d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "vacuum analyze book")
			sure(t, d.conn, "alter table book drop constraint book_pkey")
			sure(t, d.conn, "create index book_id on book (id)")
			list := d.proposals(hypothetically, bookLoad...)
			var ddl []string
			for _, p := range list {
				ddl = append(ddl, p.DDL)
			}
			text := strings.Join(ddl, "\n")
			if len(list) != 2 || !strings.Contains(text, "CREATE INDEX CONCURRENTLY book_author_idx ON book (author)") ||
				!strings.Contains(text, "CREATE INDEX CONCURRENTLY book_name_idx ON book (name)") {
				t.Fatalf("%s\n%+v", text, list)
			}
			for _, p := range list {
				if p.SizeB < 100<<10 || len(p.Gains) == 0 || p.Gains[0].Before < 10*p.Gains[0].After || p.Saves <= 0 {
					t.Errorf("%+v", p)
				}
				pays := ""
				for _, e := range p.Pays {
					pays += e.Text
				}
				if !strings.Contains(pays, "insert into book") {
					t.Errorf("who pays? %+v", p.Pays)
				}
			}
			// Hypothetical indexes have been removed.
			d.until(0, "select count(*) from pg_indexes where tablename = 'book'")
			var n int
			if err := d.conn.QueryRow(context.Background(), "select count(*) from pg_indexes where tablename = 'book'").Scan(
				&n); err != nil || n != 1 {
				t.Errorf("%d indexes: %v", n, err)
			}
		})
	}
}

func TestNothingIsProposedWhereIndexesAre(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (author)", "create index on book (name)",
		"create index on book (id)", "vacuum analyze book")
	if list := d.proposals(true, bookLoad...); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// An existing index of another owner with the proposed name is neither taken for the proposed index nor dropped.
func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index book_author_idx on book (price)", "vacuum analyze book")
	list := d.proposals(true, "select * from book where author = 'a1'")
	if len(list) != 1 || list[0].Name != "book_brunt_1_idx" || !strings.Contains(list[0].Drop, " book_brunt_1_idx") {
		t.Errorf("%+v", list)
	}
}

func TestWhatAttemptsLeaveIsSettled(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	ctx := context.Background()
	db, err := Open(ctx, d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &record.Proposal{DDL: "CREATE INDEX CONCURRENTLY book_author_idx ON book (author)", Drop: dropIndex +
		"book_author_idx"}
	settled := func(want bool) {
		t.Helper()
		there, err := db.Settle(ctx, p)
		var n int
		if failed := d.conn.QueryRow(ctx, "select count(*) from pg_indexes where tablename = 'book'").Scan(&n); err != nil ||
			failed != nil || there != want || (n == 1) != want {
			t.Errorf("there: %v, %d indexes, %v, %v", there, n, err, failed)
		}
	}
	settled(false)
	if err := db.Exec(ctx, p.DDL, inspect.Progress{}); err != nil {
		t.Fatal(err)
	}
	settled(true)
	sure(t, d.conn, "drop index book_author_idx")
	if err := db.Exec(ctx, "create unique index concurrently book_author_idx on book (name)",
		inspect.Progress{}); err == nil {
		t.Fatal("names are unique; nothing is left half-built")
	}
	settled(false)
}

func TestOrderAndConstantsAreProposed(t *testing.T) {
	d := newDatabase(t, counting(t),
		"create table job as select g as id, case when g % 1000 = 0 then 'new' else 'done' end as state, g % 50 as queue, now() + g * interval '1 s' as due from generate_series(1, 30000) g", "analyze job")
	sent := "select id from job where state = 'new' and queue = $1 order by due limit 5"
	in := d.inspected(d.repeat(3, sent, 7), inspect.Operation{
		Name: "next", Statements: []string{sent}, Done: 3,
		Arguments: func(int, int) ([]*string, bool) { return []*string{text("7")}, true },
	})
	sure(t, d.conn, "create extension hypopg")
	db, err := Open(context.Background(), d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Propose(context.Background(), []record.Inspection{*in})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if p := list[0]; p.Where != "state = 'new'" || p.Table != "job" {
		t.Errorf("not the small one: %+v", p)
	}
	// The proposed statements can be executed unchanged.
	for _, script := range []string{list[0].DDL, list[0].Drop} {
		if err := db.Exec(context.Background(), script, inspect.Progress{}); err != nil {
			t.Error(err)
		}
	}
}

func TestJoinsAreProposed(t *testing.T) {
	d := newDatabase(t, counting(t), shop,
		"insert into purchase select g, 1 + g % 2000 from generate_series(5001, 40000) g", "analyze")
	list := d.proposals(true, "select p.id from customer c join purchase p on p.customer_id = c.id where c.id = 17")
	if len(list) != 1 || list[0].Table != "purchase" || list[0].Columns[0] != "customer_id" {
		t.Errorf("%+v", list)
	}
}

func TestAdviceNeedsAWayToTry(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	db, err := Open(context.Background(), d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	sure(t, d.conn, "select * from book where author = 'x'")
	if _, err := db.Propose(context.Background(), nil); err == nil ||
		!strings.Contains(err.Error(), "CREATE EXTENSION hypopg") || !strings.Contains(err.Error(), "--build") {
		t.Error(err)
	}
	if err := db.Exec(context.Background(), "select 1; create index on nothing (x)", inspect.Progress{}); err == nil ||
		!strings.Contains(err.Error(), "create index on nothing") {
		t.Error(err)
	}
	for _, dsn := range []string{"postgres://me:s3cret@127.0.0.1:1/x"} {
		if _, err := Open(context.Background(), dsn); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Error(err)
		}
	}
}

// A script continues after the last completed statement. A statement that a killed process had begun may have
// completed.
func TestScriptsGoOn(t *testing.T) {
	d := newDatabase(t, counting(t))
	ctx := context.Background()
	db, err := Open(ctx, d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	const script = "set search_path = public; create table went (n int); insert into went values (1); create index went_n on went (n); insert into went values (2)"
	var told []int
	stop := errors.New("killed")
	err = db.Exec(ctx, script, inspect.Progress{Tell: func(n int, done bool) error {
		if told = append(told, n); n == 3 && done {
			return stop // the index exists, but this isn't recorded
		}
		return nil
	}})
	if !errors.Is(err, stop) || !slices.Equal(told, []int{0, 0, 1, 1, 2, 2, 3, 3}) {
		t.Fatalf("%v, told %v", err, told)
	}
	if err := db.Exec(ctx, script, inspect.Progress{Done: 3}); err == nil ||
		!strings.Contains(err.Error(), "already exists") {
		t.Errorf("a statement that nobody had begun: %v", err)
	}
	if err := db.Exec(ctx, script, inspect.Progress{Done: 3, Begun: true}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := d.conn.QueryRow(ctx, "select count(*) from went").Scan(&n); err != nil || n != 2 {
		t.Fatalf("%d rows: %v", n, err)
	}
	if err := db.Exec(ctx, "insert into nowhere values (1)", inspect.Progress{Begun: true}); err == nil {
		t.Error("a missing table was taken for done")
	}
	sure(t, d.conn, "insert into went values (2)")
	if _, err := d.conn.Exec(ctx, "create unique index concurrently went_once on went (n)"); err == nil {
		t.Fatal("an index of values that repeat was built")
	}
	err = db.Exec(ctx, "create unique index concurrently went_once on went (n)", inspect.Progress{Begun: true})
	if err == nil || !strings.Contains(err.Error(), "went_once") || !strings.Contains(err.Error(), "drop it by hand") {
		t.Errorf("an invalid index was taken for done: %v", err)
	}
}
