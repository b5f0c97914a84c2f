package advise

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/postgres"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

var pool testserver.Pool

func TestMain(m *testing.M) { os.Exit(pool.Run(m)) }

// load is a set of statements that one run executes on a PostgreSQL server that counts statements.
type load struct {
	t          *testing.T
	dsn        string
	conn       *pgx.Conn
	statements []string
	runs       int
}

// newLoad creates a database with HypoPG.
func newLoad(t *testing.T, setup string, statements ...string) *load {
	t.Helper()
	s := pool.Get(t, "counting", func(t testserver.TB) *testserver.Server {
		return testserver.Postgres(t, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'",
			"shared_buffers = '64MB'", "autovacuum = off", "max_wal_size = '2GB'", "checkpoint_timeout = '1h'"))
	})
	l := &load{t: t, statements: statements}
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()))
	l.connect(fmt.Sprintf("postgres://%s@%s/postgres", s.User, s.Addr))
	l.exec("create database " + name)
	l.dsn = fmt.Sprintf("postgres://%s@%s/%s", s.User, s.Addr, name)
	l.connect(l.dsn)
	l.exec("create extension pg_stat_statements", "create extension hypopg", setup, "vacuum analyze entry")
	return l
}

func (l *load) connect(dsn string) {
	l.t.Helper()
	conn, err := pgx.Connect(l.t.Context(), dsn)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close(context.Background()) })
	l.conn = conn
}

func (l *load) exec(all ...string) {
	l.t.Helper()
	for _, sql := range all {
		if _, err := l.conn.Exec(l.t.Context(), sql); err != nil {
			l.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// run executes the load once. Response times are the same for all runs, so the server's counts decide.
func (l *load) run(ctx context.Context, _ string) (*result.Result, []record.Inspection, error) {
	l.runs++
	i, err := postgres.New(l.dsn)
	if err != nil {
		return nil, nil, err
	}
	defer i.Close()
	l.exec("select pg_stat_force_next_flush()")
	if err := i.Begin(ctx); err != nil {
		return nil, nil, err
	}
	l.exec(l.statements...)
	l.exec("select pg_stat_force_next_flush()")
	in, err := i.End(ctx, inspect.Phase{Name: "load"}, inspect.Load{})
	if err != nil {
		return nil, nil, err
	}
	r := &result.Result{Program: "brunt", ID: fmt.Sprint(l.runs), Name: "x", LoadModel: "open", Verdict: "pass"}
	for _, name := range []string{"response.avg", "response.p(50)", "response.p(95)", "response.p(99)"} {
		r.Add(name, "", 1e6*(1+0.004*float64(l.runs*7%5)))
	}
	r.Add("rate", "", 100)
	return r, []record.Inspection{*in}, nil
}

// prove takes the proposals for a run of the first statement, of which there must be one, an index on one column, and
// tests it.
func (l *load) prove(column string) record.Proof {
	l.t.Helper()
	ctx := l.t.Context()
	all := l.statements
	l.statements = all[:1] // nothing has been written yet
	_, seen, err := l.run(ctx, "analysis")
	if err != nil {
		l.t.Fatal(err)
	}
	l.statements = all
	db, err := postgres.Open(ctx, l.dsn)
	if err != nil {
		l.t.Fatal(err)
	}
	list, err := db.Propose(ctx, seen)
	if err != nil || len(list) != 1 || list[0].Columns[0] != column {
		l.t.Fatalf("%+v, %v", list, err)
	}
	proofs, err := (&Trial{Database: db, Run: l.run, Times: 3, Say: func(string) {}}).Prove(ctx, list)
	if err != nil || len(proofs) != 1 {
		l.t.Fatalf("%+v, %v", proofs, err)
	}
	return proofs[0]
}

const entries = `create table entry (id bigserial, tag text, note text);
	insert into entry (tag, note) select md5(g::text) || md5((g + 1)::text), 'n' from generate_series(1, 40000) g;
	create function fill(n int) returns void language plpgsql as $$ begin
		execute format('insert into %I (tag, note) select md5(random()::text) || md5(random()::text), ''n'' from generate_series(1, %s)', 'en' || 'try', n);
	end $$;
	create function fill_plainly(n int) returns void language sql as $$
		insert into entry (tag, note) select md5(random()::text) || md5(random()::text), 'n' from generate_series(1, n) $$;
	create view written as select tag, note from entry;
	create table queue (n int);
	create function take() returns trigger language plpgsql as $$ begin perform fill_plainly(new.n); return new; end $$;
	create trigger taken after insert on queue for each row execute function take()`

// An index that helps a read but costs all writers more is not kept, for any kind of write.
func TestIndexThatHarmsWritersIsNotKept(t *testing.T) {
	const read = "select count(*) from entry where tag = 'nobody'"
	for _, c := range []struct{ name, write string }{
		{"typed", "insert into entry (tag, note) select md5(random()::text) || md5(g::text), 'n' from generate_series(1, 10000) g"},
		{"unexplained",
			"insert into entry (tag, note) select coalesce(md5(random()::text), 'x') || g, 'n' from jsonb_array_elements_text(jsonb_build_array('a', 'b')) j, generate_series(1, 10000) g"},
		{"function", "select fill_plainly(10000)"},
		{"dynamic", "select fill(10000)"},
		{"do", "do $$ begin insert into entry (tag, note) select md5(random()::text) || md5(g::text), 'n' from generate_series(1, 10000) g; end $$"},
		{"view", "insert into written select md5(random()::text) || md5(g::text), 'n' from generate_series(1, 10000) g"},
		{"trigger", "insert into queue values (10000)"},
		{"with", "with w as (insert into entry (tag, note) select md5(random()::text) || md5(g::text), 'n' from generate_series(1, 10000) g returning 1) select count(*) from w"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLoad(t, entries, read, c.write)
			p := l.prove("tag")
			if p.Kept {
				t.Errorf("kept: %s", p.Why)
			}
			t.Log(p.Why)
			var there int
			if err := l.conn.QueryRow(t.Context(), "select count(*) from pg_indexes where tablename = 'entry'").Scan(
				&there); err != nil || there > 0 {
				t.Errorf("%d indexes are left: %v", there, err)
			}
		})
	}
}

// The same index is kept if there are few writes.
func TestIndexThatPaysIsKept(t *testing.T) {
	const read = "select count(*) from entry where tag = 'nobody'"
	l := newLoad(t, entries, read, read, read, read, read, "insert into entry (tag, note) values ('a', 'b')",
		"insert into queue values (5)")
	if p := l.prove("tag"); !p.Kept {
		t.Errorf("%s", p.Why)
	}
}
