package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

type refusal struct {
	name    string
	change  func(*protocol.Target)
	request protocol.Request
	class   protocol.Class
	code    string
	text    string
}

// refusals returns targets and requests that fail. One address refuses connections, and one doesn't answer.
func refusals(refused, silent string) []refusal {
	return []refusal{{name: "wrong password", change: func(t *protocol.Target) { t.Password = "Wrong-Secret" },
		class: protocol.Connect, code: "28P01", text: "check user and password"},
		{name: "no password", change: func(t *protocol.Target) { t.Password = "" }, class: protocol.Connect,
			text: "can't connect"},
		{name: "unknown database", change: func(t *protocol.Target) { t.Database = "nowhere" }, class: protocol.Connect,
			code: "3D000", text: `"nowhere"`},
		{name: "refused port", change: func(t *protocol.Target) { t.Address = refused }, class: protocol.Connect,
			text: "is the server running there?"},
		{name: "silent server", change: func(t *protocol.Target) {
			t.Address = silent
			t.ConnectTimeout = 50 * time.Millisecond
		},
			class: protocol.Connect, text: "no answer in time"},
		{name: "unknown host", change: func(t *protocol.Target) { t.Address = "no-such-host.invalid:1" },
			class: protocol.Connect, text: "no-such-host.invalid"},
		{name: "bad address", change: func(t *protocol.Target) { t.Address = "a:b:c" }, class: protocol.Client,
			text: "isn't host:port"},
		{name: "no address", change: func(t *protocol.Target) { t.Address = "" }, class: protocol.Client, text: "no address"},
		{name: "reserved option", change: func(t *protocol.Target) { t.Options = map[string]string{"password": "x"} },
			class: protocol.Client, text: "can't be set here"},
		{name: "odd option", change: func(t *protocol.Target) { t.Options = map[string]string{"a b": "x"} },
			class: protocol.Client, text: "isn't the name of a setting"},
		{name: "unknown option", change: func(t *protocol.Target) { t.Options = map[string]string{"no_such_setting": "x"} },
			class: protocol.Connect, code: "42704", text: "no_such_setting"},
		{name: "verb", request: protocol.Request{Verb: protocol.Call, Text: "f"}, class: protocol.Client,
			text: "has no call"},
		{name: "copy", request: sql("/* c */ copy t FROM STDIN"), class: protocol.Client, text: "COPY can't be an operation"},
		{name: "empty", request: sql(" -- c\n"), class: protocol.Client, text: "empty"},
		{name: "isolation", request: protocol.Request{Verb: protocol.Begin, Text: "snapshot; DROP"}, class: protocol.Client,
			text: "isolation level"},
		{name: "syntax", request: sql("SELEC 1"), class: protocol.Server, code: "42601", text: `request "r": syntax error`},
		{name: "too few parameters", request: sql("SELECT $1::int, $2::int", gen.Int), class: protocol.Client,
			text: "has 2 parameters, the plan gives 1"},
		{name: "simple parameter", request: protocol.Request{Verb: protocol.SQL, Simple: true, Text: "SELECT $2",
			Params: []gen.Kind{gen.Int}}, class: protocol.Client, text: "parameter $2"},
		{name: "capture", request: protocol.Request{Verb: protocol.SQL, Text: "SELECT 1 AS a, 2 AS b",
			Capture: []protocol.Capture{{Name: "c"}}}, class: protocol.Client, text: `"c" isn't in the result, which has: a, b`},
		{name: "capture of nothing", request: protocol.Request{Verb: protocol.SQL, Text: "SET work_mem='1MB'",
			Capture: []protocol.Capture{{Column: 0}}}, class: protocol.Client, text: "number 0"},
	}
}

func TestDialRefusals(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := free.Addr().String()
	free.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	for _, c := range refusals(refused, silent.Addr().String()) {
		target := targetOf(server(t))
		if c.change != nil {
			c.change(&target)
		}
		if c.request.Text == "" && c.request.Verb == protocol.SQL {
			c.request.Text = "SELECT 1"
		}
		p := program(c.request)
		_, derr := New().Dial(testContext(t), target, p)
		_, terr := New().Open(testContext(t), target, p)
		for tier, err := range map[string]error{"dial": derr, "takeover": terr} {
			var e *protocol.Error
			if !errors.As(err, &e) {
				t.Errorf("%s, %s: got %v, want an error of the taxonomy", c.name, tier, err)
				continue
			}
			if e.Class != c.class || !strings.Contains(e.Text, c.text) || c.code != "" && e.Code != c.code {
				t.Errorf("%s, %s: got %v, want %v %s …%s…", c.name, tier, e, c.class, c.code, c.text)
			}
			for _, s := range []string{e.Error(), fmt.Sprintf("%+v %#v %v", e, e, e.Err)} {
				if strings.Contains(s, password) || strings.Contains(s, "Wrong-Secret") || strings.Contains(e.Error(), "\n") {
					t.Errorf("%s, %s: a secret or a second line in %q", c.name, tier, s)
				}
			}
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	s := testserver.Postgres(t, testserver.Settings("max_connections = 4", "superuser_reserved_connections = 0",
		"max_wal_senders = 0"))
	p := program(sql("SELECT 1"))
	for range 4 {
		dial(t, targetOf(s), p)
	}
	_, err := New().Dial(testContext(t), targetOf(s), p)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect || e.Code != "53300" ||
		!strings.Contains(e.Text, "max_connections") {
		t.Errorf("got %v", err)
	}
}

// awaitActive waits until count sessions run a statement that contains the text.
func awaitActive(t *testing.T, s *testserver.Server, part string, count int) {
	t.Helper()
	a := openAdmin(t, targetOf(s))
	ctx := testContext(t)
	for ctx.Err() == nil {
		active := column(
			t, a, "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%"+part+"%'")
		if len(active) >= count {
			return
		}
	}
	t.Fatalf("no session runs %s", part)
}

func TestServerKilledMidQuery(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		s := testserver.Postgres(t)
		p := program(sql("SELECT pg_sleep(50)"), sql("SELECT 1"))
		conn := open(targetOf(s), p)
		var reply protocol.Reply
		var wg sync.WaitGroup
		wg.Go(func() { conn.Do(testContext(t), &p.Requests[0], nil, &reply) })
		awaitActive(t, s, "pg_sleep(50)", 1)
		s.Kill()
		wg.Wait()
		if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("got %+v, want unknown-outcome, fatal", reply.Failure)
		}
		conn.Do(testContext(t), &p.Requests[1], nil, &reply)
		if reply.Class != protocol.Connect && reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("afterwards: %+v, want a fatal failure", reply.Failure)
		}
	})
}

func TestAdminShutdown(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := program(sql("SELECT pg_sleep(51)"))
		conn := open(targetOf(server(t)), p)
		var reply protocol.Reply
		var wg sync.WaitGroup
		wg.Go(func() { conn.Do(testContext(t), &p.Requests[0], nil, &reply) })
		awaitActive(t, server(t), "pg_sleep(51)", 1)
		execute(t, openAdmin(t, targetOf(server(t))),
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(51)'")
		wg.Wait()
		if reply.Class != protocol.Connect || reply.Code != "57P01" || !reply.Fatal {
			t.Errorf("got %+v, want connect 57P01, fatal", reply.Failure)
		}
	})
}

func TestTimeouts(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := program(sql("SELECT pg_sleep(52)"), sql("SET statement_timeout = 20"))
		conn := open(targetOf(server(t)), p)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		var reply protocol.Reply
		conn.Do(ctx, &p.Requests[0], nil, &reply)
		if reply.Class != protocol.Timeout || !reply.Fatal {
			t.Errorf("own timeout: got %+v, want a fatal timeout", reply.Failure)
		}
		conn = open(targetOf(server(t)), p)
		conn.Do(testContext(t), &p.Requests[1], nil, &reply)
		conn.Do(testContext(t), &p.Requests[0], nil, &reply)
		if reply.Class != protocol.Timeout || reply.Code != "57014" || reply.Fatal {
			t.Errorf("the server's timeout: got %+v, want timeout 57014", reply.Failure)
		}
	})
	p := program(sql("SELECT pg_sleep(53)"))
	conn := dial(t, targetOf(server(t)), p)
	ctx, cancel := context.WithCancel(context.Background())
	var reply protocol.Reply
	var wg sync.WaitGroup
	wg.Go(func() { conn.Do(ctx, &p.Requests[0], nil, &reply) })
	awaitActive(t, server(t), "pg_sleep(53)", 1)
	cancel()
	wg.Wait()
	if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
		t.Errorf("cancelled: got %+v, want unknown-outcome, fatal", reply.Failure)
	}
}

// A request whose context ends before it is sent does not affect the session.
func TestDoneBeforeSending(t *testing.T) {
	p := program(sql("SELECT 1"))
	conn := dial(t, targetOf(server(t)), p)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	var reply protocol.Reply
	conn.Do(ctx, &p.Requests[0], nil, &reply)
	if reply.Class != protocol.Timeout || reply.Fatal {
		t.Errorf("got %+v, want a timeout that isn't fatal", reply.Failure)
	}
	conn.Do(testContext(t), &p.Requests[0], nil, &reply)
	if reply.Class != protocol.OK || reply.Rows != 1 {
		t.Errorf("afterwards: %+v", reply.Failure)
	}
	if err := errors.Join(conn.Close(), conn.Close()); err != nil {
		t.Error(err)
	}
}

// Two sessions lock two rows in opposite order. Then two serializable transactions have a write skew.
func TestContention(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		admin := openAdmin(t, targetOf(server(t)))
		execute(t, admin, "DROP TABLE IF EXISTS locks", "CREATE TABLE locks (id int PRIMARY KEY, n int)",
			"INSERT INTO locks VALUES (1, 0), (2, 0)")
		p := program(protocol.Request{Verb: protocol.Begin}, sql("UPDATE locks SET n = n + 1 WHERE id = $1", gen.Int),
			protocol.Request{Verb: protocol.Rollback}, protocol.Request{Verb: protocol.Begin, Text: "serializable"},
			sql("SELECT sum(n) FROM locks"), protocol.Request{Verb: protocol.Commit},
			sql("SELECT * FROM locks WHERE id = 1 FOR UPDATE NOWAIT"))
		a, b := open(targetOf(server(t)), p), open(targetOf(server(t)), p)
		do := func(c protocol.Conn, request int, args ...gen.Value) protocol.Reply {
			var r protocol.Reply
			c.Do(testContext(t), &p.Requests[request], args, &r)
			return r
		}
		do(a, 0)
		do(b, 0)
		do(a, 1, integer(1))
		do(b, 1, integer(2))
		if r := do(b, 6); r.Class != protocol.Retryable || r.Code != "55P03" {
			t.Errorf("a row that is locked: %+v, want retryable 55P03", r.Failure)
		}
		do(b, 2)
		do(b, 0)
		do(b, 1, integer(2))
		var first protocol.Reply
		var wg sync.WaitGroup
		wg.Go(func() { first = do(a, 1, integer(2)) })
		awaitActive(t, server(t), "UPDATE locks", 1)
		second := do(b, 1, integer(1))
		do(b, 2)
		wg.Wait()
		do(a, 2)
		if lost := first.Failure; second.Class != protocol.OK {
			lost = second.Failure
			if lost.Class != protocol.Retryable || lost.Code != "40P01" || lost.Fatal {
				t.Errorf("deadlock: got %+v, want retryable 40P01", lost)
			}
		} else if lost.Class != protocol.Retryable || lost.Code != "40P01" || lost.Fatal {
			t.Errorf("deadlock: got %+v, want retryable 40P01", lost)
		}

		do(a, 3)
		do(b, 3)
		do(a, 4)
		do(b, 4)
		do(a, 1, integer(1))
		do(b, 1, integer(2))
		ra, rb := do(a, 5), do(b, 5)
		if ra.Class != protocol.OK || rb.Class != protocol.Retryable || rb.Code != "40001" {
			t.Errorf("serialization: got %+v and %+v, want ok and retryable 40001", ra.Failure, rb.Failure)
		}
	})
}

func TestTLS(t *testing.T) {
	target := targetOf(server(t))
	target.TLS = server(t).TLS
	p := program(protocol.Request{Verb: protocol.SQL, Text: "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
		Capture: []protocol.Capture{{Column: 0}}})
	conn := dial(t, target, p)
	var reply protocol.Reply
	conn.Do(testContext(t), &p.Requests[0], nil, &reply)
	if reply.Class != protocol.OK || reply.Captured[0].I != 1 {
		t.Errorf("not encrypted: %+v %+v", reply.Captured, reply.Failure)
	}
	for _, target := range []protocol.Target{target, targetOf(server(t))} {
		if why, ok := New().Takes(target, p); !ok {
			t.Errorf("doesn't take it: %s", why)
		}
	}
	if why, ok := New().Takes(targetOf(server(t)), program(protocol.Request{Verb: protocol.HTTP})); ok ||
		!strings.Contains(why, "http") {
		t.Errorf("takes HTTP: %q", why)
	}
	target.TLS = &tls.Config{}
	if _, err := New().Dial(testContext(t), target, p); protocol.AsError(err).Class != protocol.Connect ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}
