package postgres

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

var servers testserver.Pool

// release is the PostgreSQL that is inspected; "" is Debian's:
//
//	go test ./internal/inspect/postgres -args -release 17
var release = flag.String("release", "", "major number of the PostgreSQL to inspect")

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// counting returns a server that counts statements and has a small cache.
func counting(t testing.TB) *testserver.Server {
	t.Helper()
	return countingRelease(t, *release)
}

// countingRelease is counting for a version.
func countingRelease(t testing.TB, release string) *testserver.Server {
	t.Helper()
	return servers.Get(t, "counting "+release, func(t testserver.TB) *testserver.Server {
		return testserver.Postgres(t, testserver.Release(release),
			testserver.Settings("shared_preload_libraries = 'pg_stat_statements'", "shared_buffers = '16MB'",
				"autovacuum = off", "max_connections = 60", "max_parallel_workers_per_gather = 2"))
	})
}

// database is a separate database of a test.
type database struct {
	t    testing.TB
	dsn  string
	conn *pgx.Conn
}

func newDatabase(t testing.TB, s *testserver.Server, setup ...string) *database {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_", "-", "_", "(", "", ")", "", "*", "").Replace(t.Name()))
	name = name[:min(len(name), 60)]
	admin := connected(t, fmt.Sprintf("postgres://%s@%s/postgres", s.User, s.Addr))
	sure(t, admin, "create database "+name)
	d := &database{t: t, dsn: fmt.Sprintf("postgres://%s@%s/%s", s.User, s.Addr, name)}
	d.conn = d.connect("client")
	sure(t, d.conn, "create extension if not exists pg_stat_statements")
	for _, sql := range setup {
		sure(t, d.conn, sql)
		flush(t, d.conn) // otherwise an earlier ANALYZE is counted twice
	}
	return d
}

func connected(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(ctx) })
	return c
}

// connect opens a connection with an application name.
func (d *database) connect(application string) *pgx.Conn {
	d.t.Helper()
	return connected(d.t, d.dsn+"?application_name="+application)
}

func sure(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// flush makes the connection's counters visible to others at once, instead of after up to a second.
func flush(t testing.TB, c *pgx.Conn) {
	t.Helper()
	if strings.HasPrefix(c.PgConn().ParameterStatus("server_version"), "13") ||
		strings.HasPrefix(c.PgConn().ParameterStatus("server_version"), "14") {
		return // it has no function for this
	}
	sure(t, c, "select pg_stat_force_next_flush()")
}

// inspected starts an inspection, runs the load, and ends the inspection.
func (d *database) inspected(load func(i *Inspector), operations ...inspect.Operation) *record.Inspection {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	i, err := New(d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	defer i.Close()
	flush(d.t, d.conn)
	if err := i.Begin(ctx); err != nil {
		d.t.Fatal(err)
	}
	load(i)
	flush(d.t, d.conn)
	out, err := i.End(ctx, inspect.Phase{Name: "load"}, inspect.Load{Operations: operations})
	if err != nil {
		d.t.Fatal(err)
	}
	// On a busy machine, making the counters visible may take longer than the load does.
	out.Plans = slices.DeleteFunc(out.Plans, func(p record.QueryPlan) bool {
		return strings.Contains(p.Text, "pg_stat_force_next_flush")
	})
	return out
}

// found returns the findings with an id.
func found(in *record.Inspection, id string) (list []record.Finding) {
	for _, f := range in.Findings {
		if f.ID == id {
			list = append(list, f)
		}
	}
	return list
}

// repeat returns a load that executes a statement n times.
func (d *database) repeat(n int, sql string, args ...any) func(*Inspector) {
	return func(*Inspector) {
		for range n {
			sure(d.t, d.conn, sql, args...)
		}
	}
}

// BenchmarkSample measures what the server uses for a sample, with sessions of which some are active.
func BenchmarkSample(b *testing.B) {
	d := newDatabase(b, counting(b))
	for range 20 {
		d.connect("idle")
	}
	active := d.connect("active")
	stop := inspecttest.Repeat(b, func() error {
		_, err := active.Exec(context.Background(), "select pg_sleep(0.05)")
		return err
	})
	defer stop()
	i, err := New(d.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(context.Background()); err != nil {
		b.Fatal(err)
	}
	inspecttest.Cost(b, i, fmt.Sprint(i.session.conn.PID()))
}
