package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
	"brunt/test/testserver"
)

func TestPhasesAreKeptApart(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (id)", "analyze book")
	in := d.inspected(func(i *Inspector) {
		d.repeat(7, "select price from book where id = $1", 5)(i)
		flush(t, d.conn)
		if err := i.Snapshot(context.Background()); err != nil {
			t.Fatal(err)
		}
		i.Mark(inspect.Phase{Name: "warm", WarmUp: true})
		d.repeat(3, "select price from book where id = $1", 5)(i)
		d.repeat(2, "update book set price = 1 where id = $1", 6)(i)
	})
	if len(in.Windows) != 3 || in.Windows[1].Phase != "warm" || !in.Windows[1].WarmUp || in.Windows[2].Phase != "load" {
		t.Fatalf("%+v", in.Windows)
	}
	calls := func(w int, text string) float64 {
		for _, s := range in.Windows[w].Statements {
			if strings.HasPrefix(s.Text, text) {
				return s.Calls
			}
		}
		return 0
	}
	for w, want := range [][2]float64{{3, 2}, {7, 0}, {3, 2}} {
		if got := [2]float64{calls(w, "select price"), calls(w, "update")}; got != want {
			t.Errorf("window %d: %v, want %v", w, got, want)
		}
	}
	load := &in.Windows[0]
	if v := figuresOf(load, "table", "public.book"); v["idx_scan"] != 5 || v["n_tup_upd"] != 2 ||
		v["n_live_tup"] != 20000 {
		t.Errorf("table: %v", v)
	}
	if v := figuresOf(load, "index", "public.book_id_idx"); v["idx_scan"] != 5 {
		t.Errorf("index: %v", v)
	}
	for _, kind := range []string{"database", "wal"} {
		if figuresOf(load, kind, "") == nil {
			t.Errorf("no %s among %+v", kind, load.Counters)
		}
	}
	s := load.Statements[slices.IndexFunc(load.Statements,
		func(s record.Statement) bool { return strings.HasPrefix(s.Text, "update") })]
	if s.Rows != 2 || s.MeanNs <= 0 || s.TotalNs < 2*s.MeanNs*0.99 || s.More["wal_bytes"] <= 0 ||
		s.More["shared_blks_hit"] <= 0 {
		t.Errorf("%+v", s)
	}
	for _, w := range in.Windows {
		for _, s := range w.Statements {
			if strings.Contains(s.Text, "brunt:inspect") {
				t.Errorf("the inspector's own: %s", s.Text)
			}
		}
	}
	if !slices.ContainsFunc(in.Settings, func(s record.Setting) bool {
		return s.Name == "shared_buffers" &&
			s.Value == "16MB"
	}) {
		t.Errorf("settings: %+v", in.Settings)
	}
}

// The server stores the text of statements about roles unchanged.
func TestPasswordsInStatementsAreHidden(t *testing.T) {
	d := newDatabase(t, counting(t))
	in := d.inspected(d.repeat(1, "alter role current_user password 's3cretword'"))
	all, err := json.Marshal(in)
	if err != nil || strings.Contains(string(all), "s3cretword") || !strings.Contains(string(all), "password '***'") {
		t.Errorf("%v: %s", err, all)
	}
}

func TestIdleTransactionsAreTold(t *testing.T) {
	for idle, want := range map[int64]int{int64(oldXact): 1, int64(oldXact) - 1: 0} {
		c := &caseFile{inspection: &record.Inspection{
			Activity: record.ServerActivity{Clients: []record.ClientPool{{Application: "shop", LongestIdle: idle}}}}}
		if idleTransactions(c); len(c.findings) != want {
			t.Errorf("idle for %d ns: %+v", idle, c.findings)
		}
	}
}

func text(s string) *string { return &s }

func TestArgumentsOfTheLoadAreExplained(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	sent := "SELECT price FROM book WHERE name = $1 AND price <= 50"
	in := d.inspected(d.repeat(3, sent, "q"), inspect.Operation{
		Name: "prices", Statements: []string{sent}, Done: 3,
		Arguments: func(int, int) ([]*string, bool) { return []*string{text("it's")}, true },
	})
	p := in.Plans[0]
	if p.Source != record.ArgumentsWorkload || p.Text != sent || !slices.Equal(p.Arguments, []string{"'it''s'"}) ||
		!p.Analyzed || !slices.Equal(p.Operations, []string{"prices"}) {
		t.Errorf("%+v", p)
	}
	if s := in.Windows[0].Statements[0]; s.Match != record.MatchText {
		t.Errorf("%+v", s)
	}
}

func TestWritesAreExecutedOnlyIfAsked(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	ctx := context.Background()
	i, err := New(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	d.repeat(1, "delete from book where price = 3")(i)
	var told []string
	in, err := i.End(ctx, inspect.Phase{}, inspect.Load{Writes: true, Tell: func(s string) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(in.Plans, func(p record.QueryPlan) bool { return strings.HasPrefix(p.Text, "delete") })
	if k < 0 || !in.Plans[k].Analyzed || !in.Plans[k].RolledBack || len(told) != 1 {
		t.Errorf("%+v, told %q", in.Plans, told)
	}
	var n int
	if err := d.conn.QueryRow(ctx, "select count(*) from book where price <> 3").Scan(&n); err != nil || n != 19800 {
		t.Errorf("%d rows are left: %v", n, err)
	}
}

func TestStatementThatOnlySeemsToReadIsNotExecuted(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(2, "with gone as (delete from book where id < 0 returning 1) select * from gone"))
	k := slices.IndexFunc(in.Plans, func(p record.QueryPlan) bool { return strings.HasPrefix(p.Text, "with gone") })
	if k < 0 || in.Plans[k].Analyzed || !strings.Contains(in.Plans[k].Note.String(), "read-only") {
		t.Errorf("%+v", in.Plans)
	}
}

func TestUserWithoutRights(t *testing.T) {
	s := counting(t)
	d := newDatabase(t, s, books, "drop role if exists nobody_much", "create role nobody_much login")
	owner := d.dsn
	t.Cleanup(func() {
		admin := connected(t, owner)
		sure(t, admin, "drop owned by nobody_much")
		sure(t, admin, "drop role nobody_much")
	})
	d.dsn = strings.Replace(d.dsn, s.User+"@", "nobody_much@", 1)
	in := d.inspected(d.repeat(2, "select * from book where author = 'x'"))
	if !slices.ContainsFunc(in.Missing, func(w record.Warning) bool {
		return strings.Contains(w.Remedy.String(), "GRANT pg_read_all_stats TO nobody_much")
	}) {
		t.Errorf("%+v", in.Missing)
	}
	if figuresOf(&in.Windows[0], "table", "public.book")["seq_scan"] < 2 {
		t.Errorf("what can be had is missing: %+v", in.Windows)
	}
}

func TestServerWithoutStatistics(t *testing.T) {
	s := servers.Postgres(t)
	d := &database{t: t, dsn: fmt.Sprintf("postgres://%s@%s/postgres", s.User, s.Addr)}
	d.conn = d.connect("client")
	sure(t, d.conn, books)
	sure(t, d.conn, "analyze book")
	in := d.inspected(func(i *Inspector) { inspecttest.Sample(t, i, 2) }, inspect.Operation{
		Name: "find", Statements: []string{"select * from book where author = $1"},
		Arguments: func(int, int) ([]*string, bool) { return []*string{text("x")}, true },
	})
	if len(in.Missing) != 1 || !strings.Contains(in.Missing[0].Remedy.String(), "shared_preload_libraries") {
		t.Errorf("%+v", in.Missing)
	}
	// The plan's own statements are still explained.
	inspecttest.Expect(t, in, FindSeqScan, "index on book (author)")
}

func TestExtensionThatIsOnlyLoaded(t *testing.T) {
	d := newDatabase(t, counting(t), "drop extension pg_stat_statements")
	in := d.inspected(func(*Inspector) {})
	if len(in.Missing) != 1 || !strings.Contains(in.Missing[0].Remedy.String(), "loaded already") {
		t.Errorf("%+v", in.Missing)
	}
}

// A receiver of the log counts as a replica that applies nothing.
func TestReplicasAreSeen(t *testing.T) {
	s := counting(t)
	d := newDatabase(t, s)
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_receivewal")
	if len(found) == 0 {
		t.Fatal("pg_receivewal isn't installed: run: apt-get install -y postgresql-15")
	}
	cmd := exec.Command(found[len(found)-1], "-h", s.Host, "-p", fmt.Sprint(s.Port), "-U", s.User, "-D", t.TempDir(),
		"--no-loop")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	d.until(1, "select count(*) from pg_stat_replication where state = 'streaming'")
	in := d.inspected(func(i *Inspector) { inspecttest.Sample(t, i, 1) })
	if r := in.Activity.Replicas; len(r) != 1 || r[0].Name != "pg_receivewal" || r[0].State != "streaming" {
		t.Errorf("%+v", r)
	}
}

// Counters that were reset during the load lose figures, which is said.
func TestReset(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	text := "select price from book where id = 7"
	for _, query := range []string{"select pg_stat_reset()",
		"select pg_stat_statements_reset(0, (select oid from pg_database " +
			"where datname = current_database()), 0)", ""} {
		d.repeat(20, text)(nil)
		in := d.inspected(func(i *Inspector) {
			if query != "" {
				sure(t, d.conn, query)
			}
			d.repeat(5, text)(i)
		})
		said := len(in.Missing) == 1 && in.Missing[0].Text.ID == "inspect-began-anew"
		if said != (query != "") || query == "" && len(in.Missing) > 0 {
			t.Errorf("%q: %+v", query, in.Missing)
		}
	}
}

// A server that starts again is asked again; of one that has died, what it said before is kept.
func TestServerThatDies(t *testing.T) {
	s := testserver.Postgres(t)
	i, err := New(fmt.Sprintf("postgres://%s@%s/postgres", s.User, s.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	ctx := context.Background()
	if err := i.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	inspecttest.Sample(t, i, 3)
	s.Restart()
	_ = i.Sample(ctx, 0) // notices that the connection is lost
	inspecttest.Sample(t, i, 1)
	before := i.activity.Samples()
	s.Kill()
	if err := i.Sample(ctx, 0); err == nil {
		t.Error("a sample of a dead server")
	}
	in, err := i.End(ctx, inspect.Phase{}, inspect.Load{})
	if err == nil || in == nil || in.Activity.Samples != before {
		t.Errorf("%+v, %v", in, err)
	}
}

// The effect of a function such as a session's advisory lock is not undone by a rollback.
func TestVolatileFunctionsAreNotExecuted(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book",
		"create sequence taken", "create function take() returns bigint language sql as $$ select nextval('taken') $$",
		`create function "Take Two"() returns bigint language plpgsql as $$ begin return nextval('taken'); end $$`,
		`create function seen(n int) returns bigint language plpgsql as $$ begin return n + nextval('taken'); end $$`,
		`create view hidden as select "Take Two"() as n`)
	ctx := context.Background()
	i, err := New(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ sql, calls string }{
		{"select pg_advisory_lock(4711)", "pg_advisory_lock"},
		{"select price + take() from book where id = 1", "nextval"},
		{`select "Take Two"()`, "Take Two"},
		{"select * from hidden", "Take Two"},
		{"select n from pg_try_advisory_lock(4712) as n", "pg_try_advisory_lock"},
		{"select price from book where seen(id) = $1", "seen"},
		{"select price from book where seen($1) = id", "seen"},
		{"select price from book where pg_try_advisory_lock(id) = $1", "pg_try_advisory_lock"},
		{"select price, random(), clock_timestamp() from book where id = 2", ""},
	} {
		t.Run(row.sql, func(t *testing.T) {
			p := i.session.explain(ctx, &request{text: row.sql}, inspect.Load{Writes: true})
			if p.Analyzed != (row.calls == "") || !strings.Contains(p.Note.String(), row.calls) || p.Failed != "" ||
				len(p.Nodes) == 0 {
				t.Errorf("%+v", p)
			}
		})
	}
	var n int
	err = d.conn.QueryRow(ctx, "select count(*) from taken where is_called").Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("the sequence was taken from: %v", err)
	}
	err = d.conn.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and database = "+
		"(select oid from pg_database where datname = current_database())").Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("%d advisory locks are held: %v", n, err)
	}
}
