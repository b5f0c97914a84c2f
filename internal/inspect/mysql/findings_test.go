package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/load/gen"
	"brunt/test/testserver"
)

// books creates a table of 20 000 rows.
const books = `CREATE TABLE book (id INT PRIMARY KEY, name VARCHAR(40), author INT, note VARCHAR(200), price INT)
	AS SELECT seq AS id, CONCAT('name ', seq) AS name, seq % 5000 AS author, REPEAT(MD5(seq), 6) AS note, seq % 90 AS price
	FROM seq_1_to_20000`

// repeat executes a statement n times, as text without arguments and as a binary prepared statement with some.
func (d *database) repeat(n int, text string, args ...any) func(*Inspector) {
	return func(*Inspector) {
		d.t.Helper()
		if len(args) == 0 {
			for range n {
				d.sure(text)
			}
			return
		}
		st, err := d.db.Prepare(text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { st.Close() })
		for range n {
			rows, err := st.Query(args...)
			if err != nil {
				d.t.Fatal(err)
			}
			for rows.Next() {
			}
			rows.Close()
		}
		if err := d.db.Ping(); err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestStatementsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "ALTER TABLE book ADD INDEX by_name (name)",
		"ALTER TABLE book ADD INDEX by_author (author)", "ANALYZE TABLE book")
	for _, row := range []struct {
		name, text string
		kinds      []gen.Kind
		args       []any
		want       string
		says       []string
	}{
		{"full scan", "SELECT id FROM book WHERE price + 0 = ? AND note = 'x'", []gen.Kind{gen.Int}, []any{5}, FindFullScan,
			[]string{"full scan: ", "reads 20,000 rows", "index on the compared columns of book"}},
		{"full scan of text", "SELECT id FROM book WHERE note = 'x'", nil, nil, FindFullScan, []string{"reads 20,000 rows"}},
		{"mismatch", "SELECT id FROM book WHERE name = ?", []gen.Kind{gen.Int}, []any{5}, FindMismatch,
			[]string{"by_name", "type"}},
		{"filesort", "SELECT id FROM book ORDER BY note", nil, nil, FindFilesort, []string{"sort_buffer_size=32768"}},
		{"temporary table", "SELECT note, COUNT(*) FROM book GROUP BY note", nil, nil, FindTmpDisk, []string{"temporary tables on the disk"}},
		{"count", "SELECT COUNT(price) FROM book", nil, nil, FindFullScan, []string{"no condition"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var args []string
			for _, a := range row.args {
				args = append(args, fmt.Sprint(a))
			}
			in := d.inspected(d.repeat(5, row.text, row.args...), operation(row.name, row.text, row.kinds, args...))
			first(t, in, row.want, append(row.says, row.name)...)
		})
	}
}

func TestHealthyStatementsAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "ALTER TABLE book ADD INDEX by_name (name)",
		"ALTER TABLE book ADD INDEX by_author (author)", "ANALYZE TABLE book")
	texts := []string{"SELECT note FROM book WHERE id = ?", "SELECT id FROM book WHERE author = ? ORDER BY id LIMIT 10",
		"UPDATE book SET price = 3 WHERE id = ?", "SELECT id FROM book WHERE name = 'name 7'"}
	in := d.inspected(func(i *Inspector) {
		d.sure("SELECT id FROM book FORCE INDEX (by_author) WHERE author = 3")
		for k := range 60 {
			for _, text := range texts[:3] {
				d.repeat(1, text, k+1)(i)
			}
			d.sure(texts[3])
		}
		inspecttest.Sample(t, i, 12)
	}, operation("a", texts[0], []gen.Kind{gen.Int}, "1"), operation("b", texts[1], []gen.Kind{gen.Int}, "1"),
		operation("c", texts[2], []gen.Kind{gen.Int}, "1"), operation("d", texts[3], nil))
	for _, f := range in.Findings {
		t.Errorf("unexpected: %s %s: %s", f.ID, f.Subject, f.Evidence)
	}
	for _, m := range in.Missing {
		t.Errorf("missing: %s", m.Text)
	}
	if len(in.ServerTimes) != 4 || in.ServerTimes[0].TotalNs <= 0 {
		t.Errorf("times: %+v", in.ServerTimes)
	}
	calls := map[string]float64{}
	for _, s := range in.Windows[0].Statements {
		for _, o := range s.Operations {
			calls[o] += s.Calls
		}
		if administrative(s.Text) {
			t.Errorf("the inspector's own: %s", s.Text)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if calls[name] != 60 {
			t.Errorf("%s was executed %v times: %+v", name, calls[name], in.Windows[0].Statements)
		}
	}
}

// Digests show other spellings than the statements that were sent.
func TestDigestsAreMatched(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	for _, text := range []string{
		"INSERT INTO book (id, name) VALUES (30001, 'a'), (30002, 'b')", "select ID from book where id in (1,2 , 3)",
		"SELECT b.id FROM book AS b INNER JOIN book c ON c.id = b.id AND c.price <> -5 WHERE b.id = 5 LIMIT 3, 4",
		"SELECT `id`, 'x' FROM `book` WHERE id between 1 and 2;", "DELETE FROM book WHERE id != 1 AND id >= 30000",
		"SELECT CASE WHEN price > 1 THEN 'a' ELSE NULL END FROM book WHERE name LIKE 'a%' AND id = 1",
	} {
		in := d.inspected(func(*Inspector) { d.sure(text) }, operation("op", text, nil))
		ok := false
		for _, s := range in.Windows[0].Statements {
			ok = ok || len(s.Operations) == 1
		}
		if !ok {
			t.Errorf("%s: %q isn't among %+v", text, normal(text), in.Windows[0].Statements)
		}
	}
}

func TestRowLocksAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	update := "UPDATE book SET price = price + 1 WHERE id = 1"
	holder, waiter := d.session(), d.session()
	in := d.inspected(func(i *Inspector) {
		if err := d.run(holder, "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if err := d.run(holder, update); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- d.run(waiter, update) }()
		until(t, i, func() bool { return i.seen.idleBlocking >= 3 })
		if err := d.run(holder, "COMMIT"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}, operation("buy", update, nil))
	first(t, in, FindIdleXact, "buy: UPDATE book", "without a statement")
	inspecttest.Expect(t, in, FindRowLocks, "idle in transaction", "book")
}

// Sessions that change the same rows at length wait for each other, and none of them is idle.
func TestHotRowsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	update := "UPDATE book SET price = price + SLEEP(0.05) WHERE id = 1"
	in := d.inspected(func(i *Inspector) {
		var clients []func() error
		for range 3 {
			c := d.session()
			clients = append(clients, func() error { return d.run(c, update) })
		}
		beside(t, i, func() bool {
			return len(i.activity.Record(nobody).Blocked) > 0 && i.activity.Samples() >= leastSamples
		}, clients...)
	}, operation("count", update, nil))
	first(t, in, FindRowLocks, "count: UPDATE book", "(active)")
	inspecttest.Silent(t, in, FindIdleXact, FindDeadlocks, FindCommitFlush)
}

func TestDeadlocksAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	a, b := d.session(), d.session()
	in := d.inspected(func(i *Inspector) {
		ctx := context.Background()
		for _, text := range []string{"BEGIN", "UPDATE book SET price = 1 WHERE id = 1"} {
			if err := d.run(a, text); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range []string{"BEGIN", "UPDATE book SET price = 1 WHERE id = 2"} {
			if err := d.run(b, text); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error)
		go func() { done <- d.run(a, "UPDATE book SET price = 1 WHERE id = 2") }()
		one := d.run(b, "UPDATE book SET price = 1 WHERE id = 1")
		other := <-done
		if (one == nil) == (other == nil) {
			t.Fatalf("no deadlock: %v, %v", one, other)
		}
		_, _ = a.ExecContext(ctx, "ROLLBACK")
		_, _ = b.ExecContext(ctx, "ROLLBACK")
	})
	inspecttest.Expect(t, in, FindDeadlocks, "1", "same order")
}

func TestMetadataLocksAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	holder, changer, reader := d.session(), d.session(), d.session()
	in := d.inspected(func(i *Inspector) {
		for _, text := range []string{"BEGIN", "SELECT 1 FROM book WHERE id = 1"} {
			if err := d.run(holder, text); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 2)
		go func() { done <- d.run(changer, "ALTER TABLE book ADD COLUMN x INT") }()
		until(t, i, func() bool { return i.seen.metadataWaits > 0 })
		go func() { done <- d.run(reader, "SELECT 1 FROM book WHERE id = 2") }()
		inspecttest.Sample(t, i, 5)
		if err := d.run(holder, "COMMIT"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
	first(t, in, FindMetadata, "ALTER TABLE book", "lock_wait_timeout")
}

func TestSmallBufferPoolIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), `CREATE TABLE big (id INT PRIMARY KEY, v CHAR(255), w CHAR(255), x CHAR(255))
		AS SELECT seq AS id, 'v' AS v, 'w' AS w, 'x' AS x FROM seq_1_to_60000`)
	text := "SELECT v FROM big WHERE id = ?"
	in := d.inspected(func(i *Inspector) {
		st, err := d.db.Prepare(text)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for k := range 6000 {
			var v string
			if err := st.QueryRow(k * 7919 % 60000).Scan(&v); k*7919%60000 != 0 && err != nil {
				t.Fatal(err)
			}
		}
	}, operation("get", text, []gen.Kind{gen.Int}, "1"))
	first(t, in, FindCache, "innodb_buffer_pool_size=25165824")
}

func TestRefusedConnectionsAreFound(t *testing.T) {
	s := servers.Get(t, "small", func(t testserver.TB) *testserver.Server {
		return testserver.MariaDB(t, testserver.Settings("max-connections=10"))
	})
	d := newDatabase(t, s)
	in := d.inspected(func(i *Inspector) {
		for {
			if c, err := d.db.Conn(context.Background()); err != nil {
				break
			} else {
				defer c.Close()
			}
		}
		until(t, i, func() bool { // the server counts the refusal after it has told the client
			r, err := i.session.query(t.Context(), "SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'")
			if err != nil {
				t.Fatal(err)
			}
			return r.number(0, "Value") > 0
		})
	})
	first(t, in, FindConnections, "1 connections were refused", "10")
}

func TestUnusedIndexIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "ALTER TABLE book ADD INDEX never (price)",
		"ALTER TABLE book ADD UNIQUE INDEX needed (name)")
	in := d.inspected(func(*Inspector) {
		d.sure("INSERT INTO book (id, name) SELECT seq, seq FROM seq_30001_to_30100")
	})
	f := inspecttest.Expect(t, in, FindUnusedIndex, "never", "ALTER INDEX `never` IGNORED")
	for _, o := range in.Findings {
		if o.ID == FindUnusedIndex && o.Subject != f.Subject {
			t.Errorf("unexpected: %+v", o)
		}
	}
}

// Without performance_schema, counters and samples remain.
func TestWithoutPerformanceSchema(t *testing.T) {
	d := newDatabase(t, servers.MariaDB(t), books)
	text := "SELECT id FROM book WHERE note = ?"
	in := d.inspected(func(i *Inspector) {
		d.repeat(5, text, "x")(i)
		inspecttest.Sample(t, i, 3)
	}, operation("find", text, []gen.Kind{gen.String}, "x"))
	first(t, in, FindFullScan, "find: SELECT id", "rows a scan")
	if len(in.Missing) != 1 || in.Missing[0].Remedy.String() == "" {
		t.Errorf("%+v", in.Missing)
	}
	// A healthy load remains silent.
	in = d.inspected(func(i *Inspector) {
		d.repeat(5, "SELECT note FROM book WHERE id = ?", 1)(i)
		inspecttest.Sample(t, i, 3)
	}, operation("get", "SELECT note FROM book WHERE id = ?", []gen.Kind{gen.Int}, "1"))
	for _, f := range in.Findings {
		t.Errorf("unexpected: %s %s: %s", f.ID, f.Subject, f.Evidence)
	}
}

func TestUserWithoutRights(t *testing.T) {
	s := counting(t)
	d := newDatabase(t, s, books, "CREATE OR REPLACE USER plain IDENTIFIED BY 'pl-a1n-secret'", "GRANT SELECT ON test.* TO plain")
	in := inspectedAt(t, fmt.Sprintf("mysql://plain:pl-a1n-secret@%s/test", s.Addr), func(i *Inspector) {
		d.repeat(3, "SELECT id FROM book WHERE note = ?", "x")(i)
		inspecttest.Sample(t, i, 3)
	})
	said := ""
	for _, m := range in.Missing {
		said += fmt.Sprint(m.Text, "; ", m.Remedy, "\n")
	}
	for _, want := range []string{"GRANT PROCESS ON *.* TO plain", "GRANT SELECT ON performance_schema.* TO plain"} {
		if !contains(said, want) {
			t.Errorf("%q isn't said: %s", want, said)
		}
	}
	if inspect.Figures(&in.Windows[0], kindStatus, "server")["Handler_read_rnd_next"] < 60000 {
		t.Errorf("counters: %+v", in.Windows[0].Counters)
	}
}

func nobody(string) bool { return false }

// Replicas are known by the dumps that they ask for. They are no clients.
func TestReplicasAreKnownByTheirDumps(t *testing.T) {
	r := &result{columns: []string{"Id", "User", "Host", "Command", "State", "Info"}}
	for _, row := range [][]string{
		{"7", "shop", "10.0.0.5:50000", "Sleep", "", ""},
		{"8", "repl", "10.0.0.8:50001", "Binlog Dump", "Master has sent all binlog to slave; waiting for more updates", ""},
		{"9", "repl", "10.0.0.9:50002", "Binlog Dump GTID", "", ""},
	} {
		fields := make([]*string, len(row))
		for k := range row {
			fields[k] = &row[k]
		}
		r.rows = append(r.rows, fields)
	}
	i := &Inspector{session: &session{number: "1"}, activity: inspect.NewActivity(), seen: newSightings()}
	i.addSessions(r, nil, nil, time.Second)
	if got := slices.Sorted(maps.Keys(i.seen.replicas)); !slices.Equal(got, []string{"10.0.0.8", "10.0.0.9"}) {
		t.Errorf("replicas at %q", got)
	}
	if clients := i.activity.Record(nobody).Clients; len(clients) != 1 || clients[0].Application != "shop" {
		t.Errorf("clients %+v", clients)
	}
}
