package mysql

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"

	_ "github.com/go-sql-driver/mysql"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// counting returns a MariaDB that counts statements.
func counting(t testing.TB) *testserver.Server {
	t.Helper()
	return servers.Get(t, "counting", func(t testserver.TB) *testserver.Server {
		return testserver.MariaDB(t, testserver.Settings("performance-schema=ON", "performance-schema-consumer-events-statements-current=ON", "innodb-buffer-pool-size=24M",
			"max-connections=40", "sort-buffer-size=32K", "tmp-memory-table-size=64K", "tmp-table-size=64K"))
	})
}

// database is a separate database of a test.
type database struct {
	t    testing.TB
	s    *testserver.Server
	name string
	db   *sql.DB // sends texts if there are no arguments, and binary prepared statements otherwise
}

func newDatabase(t testing.TB, s *testserver.Server, setup ...string) *database {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_", "-", "_").Replace(t.Name()))
	d := &database{t: t, s: s, name: name[:min(len(name), 60)]}
	open := func(name string) *sql.DB {
		db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s", s.User, s.Password, s.Addr, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	d.db = open("")
	d.sure("CREATE DATABASE " + d.name)
	d.db = open(d.name)
	for _, text := range setup {
		d.sure(text)
	}
	return d
}

func (d *database) url() string {
	return fmt.Sprintf("mysql://%s:%s@%s/%s", d.s.User, d.s.Password, d.s.Addr, d.name)
}

func (d *database) sure(text string, args ...any) {
	d.t.Helper()
	if err := d.run(d.db, text, args...); err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
}

// run executes a statement and reads its answer. The server counts a statement after it has answered: only an answer
// to something later on the same connection shows that it has.
func (d *database) run(on interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	PingContext(context.Context) error
}, text string, args ...any) error {
	rows, err := on.QueryContext(context.Background(), text, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return on.PingContext(context.Background())
}

// session returns a connection of its own.
func (d *database) session() *sql.Conn {
	d.t.Helper()
	c, err := d.db.Conn(context.Background())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

// inspected starts an inspection, runs the load, and ends the inspection.
func (d *database) inspected(load func(i *Inspector), operations ...inspect.Operation) *record.Inspection {
	d.t.Helper()
	return inspectedAt(d.t, d.url(), load, operations...)
}

func inspectedAt(t testing.TB, url string, load func(i *Inspector),
	operations ...inspect.Operation) *record.Inspection {
	t.Helper()
	i, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	return inspecttest.Run(t, i, load, operations...)
}

// refreshed is how long the server's tables of transactions mustn't be read before it fills them again.
const refreshed = 110 * time.Millisecond

// until takes samples until a condition holds.
func until(t testing.TB, i *Inspector, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(refreshed)
	defer ticker.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatal("it didn't come about in a minute")
		}
		inspecttest.Sample(t, i, 1)
	}
}

// beside runs clients while samples are taken until a condition holds. A client is called again and again.
func beside(t testing.TB, i *Inspector, holds func() bool, clients ...func() error) {
	t.Helper()
	stop := inspecttest.Repeat(t, clients...)
	until(t, i, holds)
	stop()
}

// operation returns an operation that sends a statement with arguments.
func operation(name, text string, kinds []gen.Kind, args ...string) inspect.Operation {
	return inspect.Operation{Name: name, Statements: []string{text},
		Requests: []*protocol.Request{{Verb: protocol.SQL, Text: text, Params: kinds}},
		Arguments: func(int, int) (out []*string, ok bool) {
			for k := range args {
				out = append(out, &args[k])
			}
			return out, true
		}}
}

// first fails the test unless a finding is the first one.
func first(t testing.TB, in *record.Inspection, id string, texts ...string) {
	t.Helper()
	if f := inspecttest.Expect(t, in, id, texts...); in.Findings[0].ID != f.ID {
		t.Errorf("%s isn't the first of %+v", id, in.Findings)
	}
}

// The load's connections are told from those of other programs, also where only the process list says which ports
// clients have.
func TestConnectionsOfTheLoadAreTold(t *testing.T) {
	for name, s := range map[string]*testserver.Server{"process list": servers.MariaDB(t), "threads": counting(t)} {
		t.Run(name, func(t *testing.T) {
			d := newDatabase(t, s)
			mine := d.session()
			cmd := exec.Command("mariadb", "--no-defaults", "-h", s.Host, "-P", fmt.Sprint(s.Port), "-u", s.User, "-n", "-N")
			cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Password)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				in.Close()
				cmd.Wait()
			}()
			fmt.Fprintln(in, "SELECT 1;")
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "1\n" {
				t.Fatalf("%q, %v", line, err)
			}
			got := d.inspected(func(i *Inspector) {
				i.cuts = name == "threads"
				inspecttest.Sample(t, i, 3)
				if err := mine.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}).Activity.Clients
			for _, own := range []bool{true, false} {
				at := slices.IndexFunc(got, func(p record.ClientPool) bool { return p.Generator == own })
				if at < 0 || !own && got[at].Max != 1 || strings.HasSuffix(got[at].Application, ownMark) != own {
					t.Errorf("sessions of the load: %v: %+v", own, got)
				}
			}
		})
	}
}

// BenchmarkSample measures what the server uses for a sample, with sessions of which some are active.
func BenchmarkSample(b *testing.B) {
	for name, s := range map[string]*testserver.Server{"digests": counting(b), "counters": servers.MariaDB(b)} {
		b.Run(name, func(b *testing.B) {
			d := newDatabase(b, s, books)
			text := "SELECT price FROM book WHERE id = ?"
			for range 20 {
				c := d.session()
				statement, err := c.PrepareContext(context.Background(), text)
				if err != nil {
					b.Fatal(err)
				}
				defer statement.Close()
			}
			stop := inspecttest.Repeat(b, func() error { return d.run(d.db, "SELECT SLEEP(0.05)") })
			defer stop()
			i, err := New(d.url())
			if err != nil {
				b.Fatal(err)
			}
			defer i.Close()
			if err := i.Begin(context.Background()); err != nil {
				b.Fatal(err)
			}
			var thread int
			err = d.db.QueryRow("SELECT TID FROM information_schema.PROCESSLIST WHERE ID = ?", i.session.number).Scan(&thread)
			if err != nil {
				b.Fatal(err)
			}
			inspecttest.Cost(b, i, fmt.Sprintf("%d/%d", s.PID, thread))
		})
	}
}
