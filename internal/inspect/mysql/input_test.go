package mysql

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/load/gen"
	"brunt/test/testserver"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestURLsAreChecked(t *testing.T) {
	for _, row := range []struct{ url, want string }{
		{"mysql://u:s3cretword@h/d", ""},
		{"u:s3cretword@h:1/d?sslmode=require", ""},
		{"postgres://u:s3cretword@h/d", "the URL begins with mysql://"},
		{"mysql://u:s3cretword@h/d?x=1", "x isn't a parameter of this URL"},
	} {
		t.Run(row.want, func(t *testing.T) {
			_, err := New(row.url)
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !contains(err.Error(), row.want)):
				t.Errorf("%v, want %q", err, row.want)
			case err != nil && contains(err.Error(), "s3cretword"):
				t.Errorf("a secret: %v", err)
			}
		})
	}
}

func TestServerThatIsntThere(t *testing.T) {
	i, err := New("mysql://u:s3cretword@127.0.0.1:1/d")
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(context.Background()); err == nil || !contains(err.Error(), "can't connect") {
		t.Error(err)
	}
	s := servers.MariaDB(t)
	if i, err = New(fmt.Sprintf("mysql://nobody:s3cretword@%s/", s.Addr)); err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	err = i.Begin(context.Background())
	if err == nil || !contains(err.Error(), "1045") || contains(err.Error(), "s3cretword") {
		t.Error(err)
	}
}

// Counters that were reset during the load, and a server that started again, lose figures, which is said.
func TestResetAndRestart(t *testing.T) {
	s := testserver.MariaDB(t, testserver.Settings("performance-schema=ON"))
	d := newDatabase(t, s, "CREATE TABLE one (id INT PRIMARY KEY)", "INSERT INTO one VALUES (1)")
	text := "SELECT id FROM one WHERE id = 1"
	d.repeat(20, text)(nil)
	for _, row := range []struct {
		name  string
		reset func()
	}{
		{"reset", func() {
			d.sure("TRUNCATE performance_schema.events_statements_summary_by_digest")
			d.sure("FLUSH STATUS")
		}},
		{"restart", s.Restart},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := d.inspected(func(i *Inspector) {
				d.repeat(10, text)(i)
				row.reset()
				d.repeat(5, text)(i)
				// A sample may notice that the connection is lost.
				_ = i.Sample(context.Background(), 0)
				inspecttest.Sample(t, i, 2)
			}, operation("one", text, nil))
			if len(in.Missing) != 1 || !contains(in.Missing[0].Text.String(), "reset") {
				t.Errorf("%+v", in.Missing)
			}
			for _, w := range in.Windows[0].Statements {
				if w.Calls < 0 || w.Calls > 40 {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

// A proxy that hands connections to several servers mixes their counters, which is noticed.
func TestProxyBetweenServersIsNoticed(t *testing.T) {
	a, b := counting(t), servers.MariaDB(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", []string{a.Addr, b.Addr}[n.Add(1)%2])
			if err != nil {
				return
			}
			go func() { io.Copy(questions{to}, c); to.Close() }()
			go func() { io.Copy(c, to); c.Close() }()
		}
	}()
	in := inspectedAt(t, fmt.Sprintf("mysql://%s:%s@%s/test", a.User, a.Password, l.Addr()), func(i *Inspector) {
		i.session.close()
		i.session.broken = true
		if err := i.Snapshot(context.Background()); err != nil {
			t.Fatal(err)
		}
		i.session.close()
		i.session.broken = true
	})
	said := fmt.Sprint(in.Missing)
	if !contains(said, "answers came from several servers") || !contains(said, "ProxySQL") {
		t.Error(said)
	}
}

// questions passes on what a client sends, so that a question is answered that only ProxySQL understands.
type questions struct{ io.Writer }

func (q questions) Write(b []byte) (int, error) {
	const asked, answered = "PROXYSQL INTERNAL SESSION", "SELECT 1                 "
	_, err := q.Writer.Write(bytes.ReplaceAll(b, []byte(asked), []byte(answered)))
	return len(b), err
}

// A server that says that it is MySQL 5.7 has its locks where that has them. MariaDB has the same tables.
func TestOldMySQL(t *testing.T) {
	s := testserver.MariaDB(t, testserver.Settings("performance-schema=ON", "version=5.7.44-log"))
	d := newDatabase(t, s, books)
	update := "UPDATE book SET price = price + SLEEP(0.05) WHERE id = 1"
	in := d.inspected(func(i *Inspector) {
		a, b := d.session(), d.session()
		blocked := func() bool {
			for _, b := range i.activity.Record(nobody).Blocked {
				if contains(b.Relation, "book") {
					return true
				}
			}
			return false
		}
		beside(t, i, blocked, func() error { return d.run(a, update) }, func() error { return d.run(b, update) })
	}, operation("buy", update, nil))
	if in.Product != "MySQL" || in.Version != "5.7.44-log" {
		t.Errorf("%s %s", in.Product, in.Version)
	}
	for _, m := range in.Missing {
		if !contains(m.Text.String(), "INNODB_METRICS") { // of which MariaDB has other columns
			t.Errorf("missing: %s", m.Text)
		}
	}
	inspecttest.Expect(t, in, FindRowLocks, "book")
}

// The process list is read in bounded memory, even if statements are long.
func TestLongProcessList(t *testing.T) {
	for name, s := range map[string]*testserver.Server{"digests": counting(t), "counters": servers.MariaDB(t)} {
		t.Run(name, func(t *testing.T) {
			d := newDatabase(t, s)
			long := "SELECT SLEEP(30) /* " + strings.Repeat("x", 2<<20) + " */"
			var ids []int64
			done := make(chan error, 4)
			for range 4 {
				c := d.session()
				var id int64
				if err := c.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
				go func() { done <- d.run(c, long) }()
			}
			in := d.inspected(func(i *Inspector) {
				until(t, i, func() bool { return i.seen.running >= 8 })
				for text := range i.seen.texts {
					if len(text) > 2*longSample {
						t.Errorf("%d bytes of a statement were kept", len(text))
					}
				}
			})
			for _, id := range ids {
				d.sure(fmt.Sprintf("KILL QUERY %d", id))
			}
			for range ids {
				<-done
			}
			inspecttest.Silent(t, in, FindFullScan, FindRowLocks)
		})
	}
}

func TestPhasesAreKeptApart(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	text := "SELECT price FROM book WHERE id = ?"
	in := d.inspected(func(i *Inspector) {
		d.repeat(7, text, 5)(i)
		if err := i.Snapshot(context.Background()); err != nil {
			t.Fatal(err)
		}
		i.Mark(inspect.Phase{Name: "warm", WarmUp: true})
		d.repeat(3, text, 5)(i)
	}, operation("get", text, []gen.Kind{gen.Int}, "1"))
	if len(in.Windows) != 3 || !in.Windows[1].WarmUp {
		t.Fatalf("%+v", in.Windows)
	}
	for w, want := range []float64{3, 7, 3} {
		got := 0.0
		for _, s := range in.Windows[w].Statements {
			if len(s.Operations) == 1 && s.Operations[0] == "get" {
				got += s.Calls
			}
		}
		if got != want {
			t.Errorf("window %d: %v calls, want %v: %+v", w, got, want, in.Windows[w].Statements)
		}
	}
}

// What sessions that closed had executed stays counted.
func TestPreparedStatementsThatCloseAreKept(t *testing.T) {
	p := newPrepared()
	tally := func(calls float64) map[string]inspect.Tally {
		return map[string]inspect.Tally{"a": {Text: "x", Calls: calls, TotalNs: calls * 10,
			More: map[string]float64{"m": calls}}}
	}
	for _, calls := range []float64{5, 12, 4, 6} { // sessions closed after 12
		p.add(tally(calls))
	}
	p.add(nil)
	p.add(tally(3))
	if s := p.sum["a"]; s.Calls != 17 || s.TotalNs != 170 || s.More["m"] != 17 {
		t.Errorf("%+v", s)
	}
}
