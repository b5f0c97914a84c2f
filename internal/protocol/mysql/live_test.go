package mysql

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func targetOf(s *testserver.Server) protocol.Target {
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
}

func openAdmin(t *testing.T, target protocol.Target, statements ...string) protocol.Admin {
	t.Helper()
	a, err := New().Admin(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	for _, s := range statements {
		if _, err := a.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return a
}

func one(t *testing.T, a protocol.Admin, query string) string {
	t.Helper()
	var out []string
	err := a.Query(t.Context(), query, func(values []*string) error {
		for _, v := range values {
			if v == nil {
				out = append(out, "null")
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

func dial(t *testing.T, target protocol.Target, requests ...protocol.Request) (protocol.Conn, *protocol.Program) {
	t.Helper()
	for i := range requests {
		requests[i].ID = i
	}
	p := &protocol.Program{Requests: requests}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, p
}

func do(t *testing.T, c protocol.Conn, req *protocol.Request, args ...gen.Value) protocol.Reply {
	t.Helper()
	var reply protocol.Reply
	c.Do(protocoltest.Within(t, 20*time.Second), req, args, &reply)
	return reply
}

func sqlRequest(text string, params ...gen.Kind) protocol.Request {
	return protocol.Request{Name: text, Verb: protocol.SQL, Text: text, Params: params}
}

func TestStatements(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	openAdmin(
		t, target, "CREATE TABLE s (id BIGINT PRIMARY KEY, a VARCHAR(50), b DOUBLE, c DECIMAL(10,3), d DATETIME(6), e VARBINARY(9), f JSON, g UUID)")
	kinds := []gen.Kind{gen.Int, gen.String, gen.Float, gen.Decimal, gen.Datetime, gen.Bytes, gen.JSON, gen.UUID}
	row := []gen.Value{
		{Kind: gen.Int, I: -5}, {Kind: gen.String, B: []byte("it's ä \\ ? $1")}, {Kind: gen.Float, F: 1.5},
		{Kind: gen.Decimal, I: -12345, Scale: 3},
		{Kind: gen.Datetime, I: 1700000000123456}, {Kind: gen.Bytes, B: []byte{0, 255, '\''}},
		{Kind: gen.JSON, B: []byte(`{"x": 1}`)},
		{Kind: gen.UUID, B: []byte("0123456789abcdef")},
	}
	var captures []protocol.Capture
	for i, k := range kinds {
		captures = append(captures, protocol.Capture{Column: i, Kind: k})
	}
	captures[1].Name, captures[1].Column, captures[7].Kind = "A", 0, gen.String
	simple := sqlRequest("INSERT INTO s VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", kinds...)
	simple.Simple = true
	read := sqlRequest("SELECT * FROM s WHERE id = $2 AND '$1' <> $1 -- $9", gen.String, gen.Int)
	read.Capture = captures
	c, p := dial(t, target,
		sqlRequest("INSERT INTO s VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", kinds...), simple, read,
		sqlRequest("UPDATE s SET a = ? WHERE id = ?", gen.String, gen.Int),
		sqlRequest("DELETE FROM s"),
	)
	x := gen.Value{Kind: gen.String, B: []byte("x")}
	for _, insert := range []int{0, 1} {
		if r := do(t, c, &p.Requests[insert], row...); r.Class != protocol.OK || r.Affected != 1 || r.BytesIn == 0 {
			t.Fatalf("insert: %+v", r)
		}
		if r := do(t, c, &p.Requests[insert], row...); r.Class != protocol.Server || r.Code != "1062" || r.Fatal {
			t.Errorf("insert again: %+v", r)
		}
		r := do(t, c, &p.Requests[2], x, row[0])
		if r.Class != protocol.OK || r.Rows != 1 {
			t.Fatalf("read: %+v", r)
		}
		for i := range row[:7] {
			if got, want := protocoltest.Text(&r.Captured[i]), protocoltest.Text(&row[i]); got != want {
				t.Errorf("column %d: got %s, want %s", i, got, want)
			}
		}
		if string(r.Captured[7].B) != "30313233-3435-3637-3839-616263646566" {
			t.Errorf("got %q", r.Captured[7].B)
		}
		if r := do(t, c, &p.Requests[3], x, row[0]); r.Affected != 1 {
			t.Errorf("update: %+v", r)
		}
		if r := do(t, c, &p.Requests[3], x, row[0]); r.Affected != 1 {
			t.Errorf("update that changes nothing: %+v", r)
		}
		if r := do(t, c, &p.Requests[4]); r.Affected != 1 {
			t.Errorf("delete: %+v", r)
		}
		if r := do(t, c, &p.Requests[2], x, row[0]); r.Class != protocol.OK || r.Rows != 0 || r.Captured[0].Kind != gen.Null {
			t.Errorf("read nothing: %+v", r)
		}
	}
}

func TestRefusedPrograms(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	capture := sqlRequest("DELETE FROM mysql.nothing")
	capture.Capture = []protocol.Capture{{}}
	for _, c := range []struct {
		req  protocol.Request
		want string
	}{
		{sqlRequest("SELECT $2", gen.Int), "uses $2 but has 1"},
		{sqlRequest("SELECT ?, ?", gen.Int), "2 question marks and 1"},
		{sqlRequest("SELECT nonsense FROM nowhere"), "nowhere"},
		{capture, "no rows to capture"},
		{protocol.Request{Verb: protocol.Call, Text: "t"}, "takes read, scan"},
	} {
		_, err := New().Dial(t.Context(), target, &protocol.Program{Requests: []protocol.Request{c.req}})
		if e := protocol.AsError(err); e == nil || !strings.Contains(e.Text, c.want) || e.Class == protocol.Connect {
			t.Errorf("%q: got %v, want %q", c.req.Text, err, c.want)
		}
	}
	missing := sqlRequest("SELECT 1 AS x")
	missing.Capture = []protocol.Capture{{Name: "y"}}
	conn, p := dial(t, target, missing)
	if r := do(t, conn, &p.Requests[0]); r.Class != protocol.Client || !strings.Contains(r.Text, "which has: x") {
		t.Errorf("got %+v", r.Failure)
	}
	_, err := New().Dial(t.Context(), protocol.Target{Address: target.Address, Options: map[string]string{"x": "y"}},
		&protocol.Program{})
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Client || !strings.Contains(e.Text, "sql_mode") {
		t.Errorf("unknown option: %v", err)
	}
}

// Statements that are expected to be refused don't keep a session from opening; they fail when sent, and
// the session goes on.
func TestExpectedErrors(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := openAdmin(t, target, "CREATE TABLE expected (id BIGINT PRIMARY KEY)")
	var requests []protocol.Request
	for _, text := range []string{"SELECT a FROM nowhere_yet WHERE id = $1", "INSERT INTO nowhere_yet VALUES ($1)",
		"SELEKT $1", "UPDATE expected SET none = $1"} {
		r := sqlRequest(text, gen.Int)
		if _, err := New().Dial(t.Context(), target, &protocol.Program{Requests: []protocol.Request{r}}); err == nil {
			t.Errorf("%s is prepared", text)
		}
		r.ExpectError = true
		requests = append(requests, r)
	}
	requests[0].Capture = []protocol.Capture{{Name: "a", Kind: gen.Int}}
	c, p := dial(t, target, append(requests, sqlRequest("SELECT 1"))...)
	arg := gen.Value{Kind: gen.Int, I: 1}
	for range 2 {
		for i := range requests {
			if r := do(t, c, &p.Requests[i], arg); r.Class != protocol.Server || r.Fatal || r.Code == "" {
				t.Errorf("%s: %+v", requests[i].Text, r.Failure)
			}
		}
	}
	if _, err := a.Exec(t.Context(), "CREATE TABLE nowhere_yet (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	if r := do(t, c, &p.Requests[1], arg); r.Class != protocol.OK || r.Affected != 1 {
		t.Errorf("once the table is there: %+v", r)
	}
	if got := one(t, a, "SELECT count(*) FROM nowhere_yet"); got != "1" {
		t.Errorf("%s rows", got)
	}
	if r := do(t, c, &p.Requests[len(requests)]); r.Class != protocol.OK || r.Rows != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTransactions(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := openAdmin(t, target, "CREATE TABLE tx (id INT PRIMARY KEY, n INT)", "INSERT INTO tx VALUES (1, 0), (2, 0)")
	requests := []protocol.Request{
		{Name: "begin", Verb: protocol.Begin, Text: "serializable"}, {Name: "commit", Verb: protocol.Commit},
		{Name: "rollback", Verb: protocol.Rollback},
		sqlRequest("UPDATE tx SET n = n + 1 WHERE id = $1", gen.Int), sqlRequest("SELECT @@tx_isolation"),
		{Name: "plain", Verb: protocol.Begin},
	}
	c, p := dial(t, target, requests...)
	other, _ := dial(t, target, requests...)
	id := func(i int64) gen.Value { return gen.Value{Kind: gen.Int, I: i} }
	for _, step := range []struct {
		requests []int
		want     string
	}{{[]int{0, 3, 2}, "0"}, {[]int{0, 3, 1}, "1"}, {[]int{5, 3, 1}, "2"}} {
		for _, r := range step.requests {
			var args []gen.Value
			if r == 3 {
				args = []gen.Value{id(1)}
			}
			if reply := do(t, c, &p.Requests[r], args...); reply.Class != protocol.OK {
				t.Fatalf("%+v", reply)
			}
		}
		if got := one(t, a, "SELECT n FROM tx WHERE id = 1"); got != step.want {
			t.Errorf("%v: got %s, want %s", step.requests, got, step.want)
		}
	}
	do(t, c, &p.Requests[5])
	do(t, other, &p.Requests[5])
	do(t, c, &p.Requests[3], id(1))
	do(t, other, &p.Requests[3], id(2))
	first := make(chan protocol.Reply)
	go func() { first <- do(t, c, &p.Requests[3], id(2)) }()
	second := do(t, other, &p.Requests[3], id(1))
	retry := <-first
	if second.Class == protocol.Retryable {
		retry = second
	}
	if retry.Class != protocol.Retryable || retry.Code != "1213" || retry.Fatal {
		t.Errorf("deadlock: %+v", retry.Failure)
	}
}

func TestRecords(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := protocoltest.Abilities{Scans: true, Batches: true, Keeps: true, Tells: true}
	p := protocoltest.NewRecords("usertable", a)
	if err := New().Prepare(t.Context(), target, "usertable", []string{"field0", "field1"}, 1000, true); err != nil {
		t.Fatal(err)
	}
	update := protocol.Request{ID: len(p.Program.Requests), Verb: protocol.Batch, Text: "update usertable",
		Fields: []string{"field1"}, Rows: 2}
	p.Program.Requests = append(p.Program.Requests, update)
	c, err := New().Dial(t.Context(), target, &p.Program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	if r := p.Do(t, c, update.ID, "one", "x", "two", "y"); r.Class != protocol.OK {
		t.Fatalf("%+v", r.Failure)
	}
	if r := p.Read(t, c, "one"); string(r.Captured[0].B)+string(r.Captured[1].B) != "zerox" {
		t.Errorf("got %+v", r)
	}
	if r := p.Read(t, c, "two"); r.Missing || string(r.Captured[1].B) != "y" {
		t.Errorf("got %+v", r)
	}
}

func TestPrepare(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := openAdmin(t, target)
	prepare := func(length int, drop bool) {
		t.Helper()
		if err := New().Prepare(t.Context(), target, "user`table", []string{"field0", "field1"}, length, drop); err != nil {
			t.Fatal(err)
		}
	}
	prepare(100, false)
	if _, err := a.Exec(t.Context(), "INSERT INTO `user``table` (YCSB_KEY, FIELD0) VALUES ('k', 'v')"); err != nil {
		t.Fatal(err)
	}
	prepare(100, false)
	if got := one(t, a, "SELECT count(*) FROM `user``table`"); got != "1" {
		t.Errorf("%s rows", got)
	}
	prepare(100_000, true)
	if got := one(t, a, "SELECT count(*), max(length(FIELD1)) FROM `user``table`"); got != "0 null" {
		t.Errorf("after dropping: %s", got)
	}
}

func TestLoad(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	a := openAdmin(t, target, "CREATE TABLE `l ``1` (id BIGINT PRIMARY KEY, s VARCHAR(50), x DOUBLE)")
	told := uint64(0)
	c := &protocol.Chunk{Table: "l `1", Keys: []string{"id"}, Columns: []protocol.Column{{Name: "id"}, {Name: "s"},
		{Name: "x"}}, First: 100, Rows: 12345,
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].Kind, v[1].B = gen.Bytes, fmt.Append(v[1].B[:0], "text ", row)
			v[2].SetNull()
		}, Progress: func(rows uint64) { told += rows }}
	if n, err := a.Load(t.Context(), c, false); n != 12345 || err != nil || told != 12345 {
		t.Fatalf("%d rows, %d told, %v", n, told, err)
	}
	const sum = "SELECT count(*), min(id), max(id), sum(s = concat('text ', id)), count(x) FROM `l ``1`"
	const want = "12345 100 12444 12345 0"
	if got := one(t, a, sum); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := a.Load(t.Context(), c, false); protocol.AsError(err).Code != "1062" {
		t.Errorf("loading twice: %v", err)
	}
	a.Exec(t.Context(), "DELETE FROM `l ``1` WHERE id < 500")
	if n, err := a.Load(t.Context(), c, true); n != 12345 || err != nil {
		t.Errorf("replacing: %d, %v", n, err)
	}
	if got := one(t, a, sum); got != want {
		t.Errorf("after replacing: %s, want %s", got, want)
	}
	c.Keys = nil
	if _, err := a.Load(t.Context(), c, true); protocol.AsError(err).Class != protocol.Client {
		t.Errorf("replacing without keys: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	good := targetOf(servers.MariaDB(t))
	password, user, database := good, good, good
	password.Password, user.User, database.Database = "falsches", "nobody", "nowhere"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := protocol.Target{Address: l.Addr().String(), ConnectTimeout: 200 * time.Millisecond}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	defer l.Close()
	for _, c := range []struct {
		target     protocol.Target
		code, want string
	}{
		{password, "1045", "check user and password"}, {user, "1045", "check user and password"},
		{database, "1049", "check the database's name"},
		{silent, "", "no answer in time"}, {protocol.Target{Address: closed.Addr().String()}, protocol.RefusedCode,
			"connection refused; is the server running there?"},
	} {
		_, err := New().Dial(t.Context(), c.target, &protocol.Program{})
		e := protocol.AsError(err)
		if e == nil || e.Class != protocol.Connect || e.Code != c.code || !strings.Contains(e.Text, c.want) ||
			strings.Contains(e.Text, "falsches") || strings.Contains(e.Text, good.Password) {
			t.Errorf("%q: got %+v", c.want, e)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.MariaDB(t)
	requests := sqlRequest("SELECT 1")
	c, p := dial(t, targetOf(s), requests)
	s.Pause()
	var reply protocol.Reply
	c.Do(protocoltest.Within(t, 200*time.Millisecond), &p.Requests[0], nil, &reply)
	s.Resume()
	if reply.Class != protocol.Timeout || !reply.Fatal {
		t.Errorf("while paused: %+v", reply.Failure)
	}
	c, _ = dial(t, targetOf(s), requests)
	s.Pause()
	done := make(chan protocol.Reply)
	go func() { done <- do(t, c, &p.Requests[0]) }()
	s.Kill()
	if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
		t.Errorf("killed: %+v", r.Failure)
	}
	if r := do(t, c, &p.Requests[0]); r.Class != protocol.Connect || !r.Fatal {
		t.Errorf("after the end: %+v", r.Failure)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(context.Background(), targetOf(servers.MariaDB(t)))
	if err != nil || info.Product != "MariaDB" || !strings.HasPrefix(info.Version, "10.") ||
		info.Settings["innodb_flush_log_at_trx_commit"] != "0" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestWays(t *testing.T) {
	program := &protocol.Program{Requests: []protocol.Request{{Name: "one", Verb: protocol.SQL, Text: "SELECT 1"}}}
	secured := testserver.MariaDB(t, testserver.TLS(), testserver.Start("ALTER USER brunt REQUIRE X509"))
	secure := targetOf(secured)
	if _, err := New().Dial(t.Context(), secure, program); err == nil || !strings.Contains(err.Error(), "1045") {
		t.Errorf("without TLS: %v", err)
	}
	secure.TLS = secured.TLS
	if _, err := New().Dial(t.Context(), secure, program); err == nil || !strings.Contains(err.Error(), "1045") {
		t.Errorf("without a certificate: %v", err)
	}
	pair, err := tls.LoadX509KeyPair(secured.CAFile, strings.TrimSuffix(secured.CAFile, ".crt")+".key")
	if err != nil {
		t.Fatal(err)
	}
	secure.TLS.Certificates = []tls.Certificate{pair}
	for name, target := range map[string]protocol.Target{"": targetOf(servers.MariaDB(t)),
		"a client's certificate, ": secure} {
		for _, way := range protocoltest.Ways(t, target, nil) {
			t.Run(name+way.Name, func(t *testing.T) { way.Takes(t, New(), program) })
		}
	}
}
