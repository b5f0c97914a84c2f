package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func fileTarget(t testing.TB) protocol.Target {
	return protocol.Target{Address: filepath.Join(t.TempDir(), "a %?#'file.db")}
}

func sql(text string, params ...gen.Kind) protocol.Request {
	return protocol.Request{Verb: protocol.SQL, Text: text, Params: params}
}

func program(requests ...protocol.Request) *protocol.Program {
	for i := range requests {
		requests[i].ID = i
		requests[i].Name = fmt.Sprint("r", i)
	}
	return &protocol.Program{Requests: requests}
}

func dial(t testing.TB, d *Driver, target protocol.Target, p *protocol.Program) protocol.Conn {
	t.Helper()
	c, err := d.Dial(context.Background(), target, p)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openAdmin(t testing.TB, d *Driver, target protocol.Target, statements ...string) protocol.Admin {
	t.Helper()
	a, err := d.Admin(context.Background(), target)
	if err != nil {
		t.Fatalf("admin: %v", err)
	}
	t.Cleanup(func() { a.Close() })
	for _, s := range statements {
		if _, err := a.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return a
}

func one(t testing.TB, a protocol.Admin, query string) string {
	t.Helper()
	var out []string
	err := a.Query(context.Background(), query, func(values []*string) error {
		for _, v := range values {
			if v == nil {
				out = append(out, "NULL")
			} else {
				out = append(out, *v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(out, " ")
}

func do(c protocol.Conn, p *protocol.Program, request int, args ...gen.Value) *protocol.Reply {
	var r protocol.Reply
	c.Do(context.Background(), &p.Requests[request], args, &r)
	return &r
}

func integer(i int64) gen.Value          { return gen.Value{Kind: gen.Int, I: i} }
func raw(k gen.Kind, b string) gen.Value { return gen.Value{Kind: k, B: []byte(b)} }

const id16 = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"

func TestTypesRoundTrip(t *testing.T) {
	cases := []struct {
		typ    string
		send   gen.Value
		want   gen.Value
		client bool
	}{
		{typ: "INTEGER", send: integer(-1 << 63), want: integer(-1 << 63)},
		{typ: "INTEGER", send: gen.Value{Kind: gen.Uint, I: 7}, want: gen.Value{Kind: gen.Uint, I: 7}},
		{typ: "INTEGER", send: gen.Value{Kind: gen.Uint, I: -7}, client: true},
		{typ: "INTEGER", send: gen.Value{Kind: gen.Bool, I: 1}, want: gen.Value{Kind: gen.Bool, I: 1}},
		{typ: "REAL", send: gen.Value{Kind: gen.Float, F: 0.1}, want: gen.Value{Kind: gen.Float, F: 0.1}},
		{typ: "NUMERIC", send: gen.Value{Kind: gen.Decimal, I: -12345, Scale: 2},
			want: gen.Value{Kind: gen.Decimal, I: -12345, Scale: 2}},
		{typ: "TEXT", send: raw(gen.String, "текст ' \""), want: raw(gen.String, "текст ' \"")},
		{typ: "TEXT", send: raw(gen.UUID, id16), want: raw(gen.UUID, id16)},
		{typ: "TEXT", send: raw(gen.JSON, `{"a":1}`), want: raw(gen.JSON, `{"a":1}`)},
		{typ: "TEXT", send: gen.Value{Kind: gen.Datetime, I: -1}, want: gen.Value{Kind: gen.Datetime, I: -1}},
		{typ: "DATETIME", send: gen.Value{Kind: gen.Datetime, I: 1700000000123456},
			want: gen.Value{Kind: gen.Datetime, I: 1700000000123456}},
		{typ: "BLOB", send: raw(gen.Bytes, "\x00\xff"), want: raw(gen.Bytes, "\x00\xff")},
		{typ: "TEXT", send: gen.Value{}, want: gen.Value{}},
	}
	for _, c := range cases {
		d := New()
		target := fileTarget(t)
		openAdmin(t, d, target, "CREATE TABLE t (id INTEGER PRIMARY KEY, v "+c.typ+")")
		read := sql("SELECT id, v FROM t")
		read.Capture = []protocol.Capture{{Name: "V", Kind: c.send.Kind}}
		p := program(sql("INSERT INTO t (v, id) VALUES ($2, $1)", gen.Int, c.send.Kind), read)
		conn := dial(t, d, target, p)
		r := do(conn, p, 0, integer(1), c.send)
		if c.client {
			if r.Class != protocol.Client || r.Fatal {
				t.Errorf("%s from %+v: %+v, want a client error", c.typ, c.send, r.Failure)
			}
			continue
		}
		if r.Class != protocol.OK || r.Affected != 1 || r.Rows != 0 {
			t.Errorf("%s from %+v: %+v", c.typ, c.send, r)
		}
		r = do(conn, p, 1)
		got := &r.Captured[0]
		if r.Class != protocol.OK || r.Rows != 1 || got.Kind != c.want.Kind || show(got) != show(&c.want) {
			t.Errorf("%s from %+v: got %+v %+v", c.typ, c.send, got, r.Failure)
		}
	}
}

// A value of each type that SQLite has, in columns of each affinity, is shown as it is, captured as it is and sent back
// as the same: SQLite itself compares type and content. Times are texts, however they are written.
func TestValuesOfEachType(t *testing.T) {
	d, target := New(), fileTarget(t)
	declared := []string{"", "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "BOOLEAN", "DECIMAL(10, 2)", "DATE",
		"DATETIME", "TIMESTAMP", "JSON"}
	literals := []string{
		"NULL", "-9223372036854775808", "9223372036854775807", "0.1", "-1e300", "9e999", "-9e999", "5e-324",
		"1700000000", "1.0", "''", "'ё'", "'a' || char(0) || 'b'", "'12'", "'007'", "'1e5'", "x''", "x'00ff'",
		"x'613b62'", "'2024-02-29'", "'2024-02-29 12:34'", "'2024-02-29 12:34:56'", "'2024-02-29T12:34:56Z'",
		"'0000-00-00'", "'2024-02-29 12:34:56.789+03:00'", "'2024-02-29T12:34:56.123456Z'", "'not a time'",
		`'{"a": 1}'`,
	}
	columns := make([]string, len(declared))
	for i, name := range declared {
		columns[i] = fmt.Sprintf("c%d %s", i, name)
	}
	a := openAdmin(t, d, target, "CREATE TABLE stored (id INTEGER PRIMARY KEY, "+strings.Join(columns, ", ")+")",
		"CREATE TABLE back (id INTEGER PRIMARY KEY, "+strings.Join(columns, ", ")+")")
	var requests []protocol.Request
	for i := range declared {
		read := sql(fmt.Sprintf("SELECT id, c%d FROM stored WHERE id = $1; -- all", i), gen.Int)
		read.Capture = []protocol.Capture{{Name: fmt.Sprint("C", i)}}
		requests = append(requests, read,
			sql(fmt.Sprintf("INSERT INTO back (id, c%d) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET c%[1]d = $2", i),
				gen.Int, gen.Null))
	}
	p := program(requests...)
	c := dial(t, d, target, p)
	for id, literal := range literals {
		values := strings.Repeat(", "+literal, len(declared))
		if _, err := a.Exec(t.Context(), fmt.Sprintf("INSERT INTO stored VALUES (%d%s)", id, values)); err != nil {
			t.Fatal(err)
		}
		for i, name := range declared {
			r := do(c, p, 2*i, integer(int64(id)))
			if r.Class != protocol.OK {
				t.Fatalf("%s in %s: %+v", literal, name, r.Failure)
			}
			if sent := do(c, p, 2*i+1, integer(int64(id)), r.Captured[0]); sent.Class != protocol.OK {
				t.Fatalf("%s in %s: %+v", literal, name, sent.Failure)
			}
			same := one(t, a, fmt.Sprintf("SELECT typeof(s.c%d) = typeof(b.c%[1]d) AND s.c%[1]d IS b.c%[1]d FROM stored s "+
				"JOIN back b USING (id) WHERE id = %d", i, id))
			if same != "1" {
				t.Errorf("%s in a column %q was sent back as another value: %+v", literal, name, r.Captured[0])
			}
			want := one(t, a, fmt.Sprintf("SELECT CASE typeof(c%d) WHEN 'real' THEN printf('%%!.17g', c%[1]d) ELSE "+
				"typeof(c%[1]d) || ' ' || hex(c%[1]d) END FROM stored WHERE id = %d", i, id))
			if f, err := strconv.ParseFloat(want, 64); err == nil {
				want = fmt.Sprint("real ", f)
			}
			if got := column(t, c, len(requests), fmt.Sprintf("SELECT c%d FROM stored WHERE id = %d", i, id)); got != want {
				t.Errorf("%s in a column %q is shown as %s, want %s", literal, name, got, want)
			}
		}
	}
	returning := sql("UPDATE stored SET c0 = 1 WHERE id = 1 RETURNING c9")
	returning.Capture = []protocol.Capture{{}}
	_, err := d.Dial(t.Context(), target, program(returning))
	if err == nil || !strings.Contains(err.Error(), "return +c9 AS c9") {
		t.Errorf("a time that can't be kept: %v", err)
	}
}

// column returns the type, as SQLite calls it, and the content of a value that a statement of a script is shown.
func column(t *testing.T, c protocol.Conn, id int, text string) (shown string) {
	t.Helper()
	req := protocol.Request{ID: id, Name: "shown", Verb: protocol.SQL, Text: text}
	if err := c.(protocol.AdHoc).Add(t.Context(), &req); err != nil {
		t.Fatal(err)
	}
	r := protocol.Reply{Each: func(_ []string, row []gen.Value) {
		switch v := &row[0]; v.Kind {
		case gen.Null:
			shown = "null "
		case gen.Int:
			shown = fmt.Sprintf("integer %X", v.AppendText(nil))
		case gen.Float:
			shown = fmt.Sprint("real ", v.F)
		case gen.String:
			shown = fmt.Sprintf("text %X", v.B)
		case gen.Bytes:
			shown = fmt.Sprintf("blob %X", v.B)
		}
	}}
	if c.Do(t.Context(), &req, nil, &r); r.Class != protocol.OK {
		t.Fatalf("%s: %+v", text, r.Failure)
	}
	return shown
}

// show is the content that counts for a value's kind.
func show(v *gen.Value) string {
	switch v.Kind {
	case gen.Null:
		return ""
	case gen.Float:
		return fmt.Sprint(v.F)
	case gen.Decimal:
		return fmt.Sprint(v.I, v.Scale)
	case gen.String, gen.Bytes, gen.UUID, gen.JSON:
		return string(v.B)
	}
	return fmt.Sprint(v.I)
}

func TestMissing(t *testing.T) {
	d, target := New(), fileTarget(t)
	openAdmin(t, d, target, "CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "INSERT INTO t VALUES (1, 1), (2, 2)")
	for text, want := range map[string]bool{
		"SELECT * FROM t WHERE id = 9": true, "SELECT * FROM t WHERE id = 1": false,
		"SELECT count(*) FROM t WHERE id = 9": false,
		"UPDATE t SET n = 1 WHERE id = 9":     true, "UPDATE t SET n = 1 WHERE id = 9 RETURNING n": true,
		"UPDATE t SET n = n WHERE id = 1": false,
		"DELETE FROM t WHERE id = 9":      true, "DELETE FROM t WHERE id = 2": false,
		"INSERT OR IGNORE INTO t VALUES (1, 1)": true, "INSERT INTO t VALUES (3, 1)": false,
		"INSERT INTO t SELECT 9, 9 WHERE 1 = 2":                                   true,
		"CREATE TABLE IF NOT EXISTS t (x)":                                        false,
		"WITH w AS (SELECT 9 AS id) DELETE FROM t WHERE id IN (SELECT id FROM w)": true,
	} {
		p := program(sql(text))
		if r := do(dial(t, d, target, p), p, 0); r.Class != protocol.OK || r.Missing != want {
			t.Errorf("%s: %+v, missing %v, want %v", text, r.Failure, r.Missing, want)
		}
	}
}

func TestParameters(t *testing.T) {
	for text, want := range map[string]int{"": 0, "$2, $1": 2, "?, ?": 2, "?7 ?": 8,
		"'$1' \"$2\" [$3] `$4` -- $5\n/* $6 */": 0, "a$1": 0, "'it''s $1' $1": 1, "-- $1": 0, "/* $1": 0, "'$1": 0,
		"?1,?1": 1} {
		if got := parameters(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTransactionsAndFailures(t *testing.T) {
	d := New()
	target := fileTarget(t)
	target.Options = map[string]string{"busy_timeout": "0"}
	a := openAdmin(t, d, target, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
		"INSERT INTO t VALUES (1, 10), (2, 20)")
	returning := sql("UPDATE t SET n = n + 1 WHERE id <= $1 RETURNING n, id", gen.Int)
	returning.Capture = []protocol.Capture{{Name: "n"}, {Column: 1}}
	p := program(protocol.Request{Verb: protocol.Begin}, returning, protocol.Request{Verb: protocol.Rollback},
		protocol.Request{Verb: protocol.Commit},
		sql("INSERT INTO t VALUES ($1, 0)", gen.Int), sql("SELECT id FROM t WHERE id > $1", gen.Int),
		protocol.Request{Verb: protocol.SQL, Simple: true,
			Text: "DELETE FROM t WHERE id > 100; INSERT INTO t VALUES (200, 1)"},
		protocol.Request{Verb: protocol.SQL, Simple: true, Text: "SELECT * FROM t"})
	x, y := dial(t, d, target, p), dial(t, d, target, p)
	if r := do(x, p, 0); r.Class != protocol.OK {
		t.Fatalf("begin: %+v", r.Failure)
	}
	if r := do(x, p, 1, integer(2)); r.Rows != 2 || r.Affected != 2 || r.Captured[0].I != 11 || r.Captured[1].I != 1 {
		t.Errorf("update: %+v", r)
	}
	if r := do(y, p, 0); r.Class != protocol.Retryable || r.Code != "SQLITE_BUSY" || r.Fatal {
		t.Errorf("a second writer: %+v, want retryable", r.Failure)
	}
	if r := do(y, p, 5, integer(0)); r.Rows != 2 || r.Affected != 0 {
		t.Errorf("a reader beside a writer: %+v", r)
	}
	do(x, p, 2)
	if r := do(x, p, 2); r.Class != protocol.OK {
		t.Errorf("a second rollback: %+v", r.Failure)
	}
	if r := do(x, p, 3); r.Class != protocol.Server {
		t.Errorf("a commit of nothing: %+v", r.Failure)
	}
	if r := do(x, p, 4, integer(1)); r.Class != protocol.Server || r.Code != "SQLITE_CONSTRAINT" ||
		!strings.Contains(r.Text, "UNIQUE") {
		t.Errorf("a duplicate: %+v", r.Failure)
	}
	if r := do(x, p, 6); r.Class != protocol.OK {
		t.Errorf("two statements: %+v", r.Failure)
	}
	if r := do(x, p, 7); r.Rows != 3 || r.Affected != 0 {
		t.Errorf("simple select: %+v", r)
	}
	if got := one(t, a, "SELECT * FROM t ORDER BY id"); got != "1 10 2 20 200 1" {
		t.Errorf("the table holds %s", got)
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Error(err)
	}
	if r := do(x, p, 5, integer(0)); r.Class != protocol.Client || !r.Fatal {
		t.Errorf("a closed session: %+v", r.Failure)
	}
}

const endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT "

// A hanging statement ends with its context, and the session goes on.
func TestTimeout(t *testing.T) {
	d := New()
	p := program(sql(endless+"max(n) FROM c"), sql(endless+"n FROM c"), sql("SELECT 1"))
	conn := dial(t, d, fileTarget(t), p)
	for hanging := range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		var r protocol.Reply
		conn.Do(ctx, &p.Requests[hanging], nil, &r)
		cancel()
		if r.Class != protocol.Timeout || r.Fatal {
			t.Errorf("statement %d: %+v, want a timeout that isn't fatal", hanging, r.Failure)
		}
		ctx, cancel = context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { conn.Do(ctx, &p.Requests[hanging], nil, &r) })
		time.Sleep(5 * time.Millisecond)
		cancel()
		wg.Wait()
		if r.Class != protocol.UnknownOutcome {
			t.Errorf("statement %d, cancelled: %+v", hanging, r.Failure)
		}
	}
	if r := do(conn, p, 2); r.Class != protocol.OK || r.Rows != 1 {
		t.Errorf("afterwards: %+v", r.Failure)
	}
}

func TestDialRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "not.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	good := fileTarget(t)
	capture := sql("SELECT 1 AS a")
	capture.Capture = []protocol.Capture{{Name: "b"}}
	cases := []struct {
		target  protocol.Target
		request protocol.Request
		class   protocol.Class
		text    string
	}{
		{protocol.Target{}, sql("SELECT 1"), protocol.Client, "no address"},
		{protocol.Target{Address: "/nowhere/at/all/x.db"}, sql("SELECT 1"), protocol.Connect, "check that its folder exists"},
		{protocol.Target{Address: t.TempDir()}, sql("SELECT 1"), protocol.Connect, "can't open"},
		{protocol.Target{Address: file}, sql("SELECT 1"), protocol.Connect, "not a database"},
		{protocol.Target{Address: "x", Options: map[string]string{"nonsense": "1"}}, sql("SELECT 1"), protocol.Client,
			"there are busy_timeout"},
		{protocol.Target{Address: "x", Options: map[string]string{"cache_size": "1; DROP"}}, sql("SELECT 1"), protocol.Client,
			"neither a word nor a number"},
		{protocol.Target{Address: good.Address, Options: map[string]string{"journal_mode": "sideways"}}, sql("SELECT 1"),
			protocol.Client, "it stays"},
		{protocol.Target{Address: ":memory:", Options: map[string]string{"journal_mode": "wal"}}, sql("SELECT 1"),
			protocol.Client, "isn't possible there"},
		{good, sql("SELEC 1"), protocol.Server, `request "r0"`},
		{good, sql("SELECT * FROM nowhere"), protocol.Server, "no such table"},
		{good, sql(""), protocol.Client, "empty"},
		{good, sql("SELECT $1"), protocol.Client, "has 1 parameters, the plan gives 0"},
		{good, protocol.Request{Verb: protocol.Eval}, protocol.Client, "SQL and transactions only"},
		{good, capture, protocol.Client, "which has: a"},
	}
	for _, c := range cases {
		_, err := New().Dial(context.Background(), c.target, program(c.request))
		var e *protocol.Error
		if !errors.As(err, &e) || e.Class != c.class || !strings.Contains(e.Text, c.text) || strings.Contains(e.Text, "\n") {
			t.Errorf("%q %q: got %v, want %v …%s…", c.target.Address, c.request.Text, err, c.class, c.text)
		}
	}
}

// Sessions of one process share a database in memory, which outlives each of them; sessions that
// write at once wait for each other.
// Statements that are expected to be refused don't keep a session from opening; they fail when sent, and
// the session goes on.
func TestExpectedErrors(t *testing.T) {
	d, target := New(), fileTarget(t)
	a := openAdmin(t, d, target, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	var requests []protocol.Request
	for _, text := range []string{"SELECT a FROM nowhere WHERE id = $1", "INSERT INTO nowhere VALUES ($1)", "SELEKT $1",
		"UPDATE t SET none = $1"} {
		r := sql(text, gen.Int)
		if _, err := d.Dial(t.Context(), target, program(r)); err == nil {
			t.Errorf("%s is prepared", text)
		}
		r.ExpectError = true
		requests = append(requests, r)
	}
	requests[0].Capture = []protocol.Capture{{Name: "a", Kind: gen.Int}}
	p := program(append(requests, sql("SELECT count(*) FROM t"))...)
	c := dial(t, d, target, p)
	for range 2 {
		for i := range requests {
			if r := do(c, p, i, integer(1)); r.Class != protocol.Server || r.Fatal || r.Text == "" {
				t.Errorf("%s: %+v", requests[i].Text, r.Failure)
			}
		}
	}
	if _, err := a.Exec(t.Context(), "CREATE TABLE nowhere (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if r := do(c, p, 1, integer(1)); r.Class != protocol.OK {
		t.Errorf("once the table is there: %+v", r.Failure)
	}
	if got := one(t, a, "SELECT count(*) FROM nowhere"); got != "1" {
		t.Errorf("%s rows", got)
	}
	if r := do(c, p, len(requests)); r.Class != protocol.OK || r.Rows != 1 {
		t.Errorf("%+v", r)
	}
}

func TestMemoryIsShared(t *testing.T) {
	d := New()
	defer d.Close()
	target := protocol.Target{Address: ":memory:" + t.Name()}
	a, err := d.Admin(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	a.Exec(context.Background(), "CREATE TABLE t (n INTEGER)")
	a.Close()
	p := program(protocol.Request{Verb: protocol.Begin}, sql("INSERT INTO t VALUES ($1)", gen.Int),
		protocol.Request{Verb: protocol.Commit}, sql("SELECT count(*) FROM t"))
	var wg sync.WaitGroup
	for range 8 {
		c := dial(t, d, target, p)
		wg.Go(func() {
			for i := range 25 {
				for _, r := range []*protocol.Reply{do(c, p, 0), do(c, p, 1, integer(int64(i))), do(c, p, 2), do(c, p, 3)} {
					if r.Class != protocol.OK {
						t.Errorf("%+v", r.Failure)
					}
				}
			}
		})
	}
	wg.Wait()
	if got := one(t, openAdmin(t, d, target), "SELECT count(*) FROM t"); got != "200" {
		t.Errorf("%s rows, want 200", got)
	}
	if _, err := os.Stat(":memory:" + t.Name()); err == nil {
		t.Error("a file was made")
	}
}

func TestSessionsOpenedAtOnce(t *testing.T) {
	d := New()
	target := fileTarget(t)
	p := program(sql("SELECT 1"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			c, err := d.Dial(context.Background(), target, p)
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	wg.Wait()
}
