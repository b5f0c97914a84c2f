package postgres

import (
	"errors"
	"fmt"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// arithmetic returns a program of statements that differ in text only, alone and in transactions. The answer of
// statement k to x is x·10+k+shift.
func arithmetic(shift int) *protocol.Program {
	requests := []protocol.Request{{Verb: protocol.Begin}, {Verb: protocol.Commit}}
	for k := range 3 {
		r := sql(fmt.Sprintf("SELECT $1::int * 10 + %d AS n", k+shift), gen.Int)
		r.Capture = []protocol.Capture{{Name: "n", Kind: gen.Int}}
		requests = append(requests, r)
	}
	return program(requests...)
}

// Behind a pooler in transaction mode, clients share the server's sessions and so the names of prepared statements. No
// client may execute another one's statement, in either way of driving, and all find out that there is a pooler.
func TestPoolersDoNotMixStatements(t *testing.T) {
	pooler := testserver.PgBouncer(t, testserver.Postgres(t), 2)
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		if t.Name() == "TestPoolersDoNotMixStatements/library,_TLS" {
			return // PgBouncer has no certificate here, and TLS changes nothing about names
		}
		type client struct {
			conn    protocol.Conn
			program *protocol.Program
			shift   int
		}
		var clients []client
		programs := []*protocol.Program{arithmetic(0), arithmetic(5)}
		var reply protocol.Reply
		for i := range 6 {
			p := programs[i%2]
			if i == 1 { // the second client prepares its statements on the session that the first doesn't occupy
				clients[0].conn.Do(testContext(t), &clients[0].program.Requests[0], nil, &reply)
			}
			clients = append(clients, client{open(targetOf(pooler), p), p, i % 2 * 5})
			if i == 1 {
				clients[0].conn.Do(testContext(t), &clients[0].program.Requests[1], nil, &reply)
				sharedByTwo(t, clients[0].conn, clients[1].conn, programs)
			}
		}
		refused := 0
		do := func(c *client, id int, args ...gen.Value) bool {
			t.Helper()
			// A session has one chance to notice the pooler within a transaction, where nothing can be sent again.
			if c.conn.Do(testContext(t), &c.program.Requests[id], args, &reply); reply.Class == protocol.Retryable {
				refused++
				return false
			}
			if reply.Class != protocol.OK {
				t.Fatalf("request %d: %+v", id, reply.Failure)
			}
			return true
		}
		ask := func(c *client, k, x int) {
			t.Helper()
			if do(c, 2+k, integer(int64(x))) && reply.Captured[0].I != int64(x*10+k+c.shift) {
				t.Fatalf("statement %d of the program with %d answers %d to %d", k, c.shift, reply.Captured[0].I, x)
			}
		}
		for x := range 60 {
			c := &clients[x*7%len(clients)]
			if x%3 > 0 {
				ask(c, x%3, x)
				continue
			}
			// Two transactions at a time occupy both of the server's sessions.
			d := &clients[(x*7+1)%len(clients)]
			for _, one := range []*client{c, d} {
				do(one, 0)
				ask(one, 0, x)
			}
			do(c, 1)
			do(d, 1)
		}
		if refused > len(clients) {
			t.Errorf("%d requests were refused, want at most one a session", refused)
		}
		for i, p := range programs {
			if !new(Driver).Pooled(p) {
				t.Errorf("program %d didn't notice the pooler", i)
			}
		}
	})
}

// sharedByTwo lets each of two clients ask while the other one occupies one of the server's sessions.
func sharedByTwo(t *testing.T, a, b protocol.Conn, programs []*protocol.Program) {
	t.Helper()
	var reply protocol.Reply
	for range 4 {
		for i, pair := range [][2]protocol.Conn{{a, b}, {b, a}} {
			asks, occupies := pair[0], pair[1]
			occupies.Do(testContext(t), &programs[1-i].Requests[0], nil, &reply)
			for k := range 3 {
				asks.Do(testContext(t), &programs[i].Requests[2+k], []gen.Value{integer(4)}, &reply)
				if want := int64(40 + k + 5*i); reply.Class != protocol.OK || reply.Captured[0].I != want {
					t.Fatalf("client %d, statement %d: %+v, %v, want %d", i, k, reply.Failure, reply.Captured, want)
				}
			}
			occupies.Do(testContext(t), &programs[1-i].Requests[1], nil, &reply)
		}
	}
}

// Statements of one text have one name, and a session without a pooler prepares it once.
func TestStatementsOfOneText(t *testing.T) {
	one := sql("SELECT $1::int AS n", gen.Int)
	one.Capture = []protocol.Capture{{Name: "n", Kind: gen.Int}}
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := program(one, one)
		c := open(targetOf(server(t)), p)
		var reply protocol.Reply
		for id := range 2 {
			c.Do(testContext(t), &p.Requests[id], []gen.Value{integer(7)}, &reply)
			if reply.Class != protocol.OK || reply.Captured[0].I != 7 {
				t.Errorf("request %d: %+v %v", id, reply.Failure, reply.Captured)
			}
		}
		if new(Driver).Pooled(p) {
			t.Error("a pooler was seen where there is none")
		}
	})
}

// The server's sessions keep the statements of earlier runs. If a table has other types since then, the same text is
// another statement: its parameter is sent in another form.
func TestStatementsOfOtherTypes(t *testing.T) {
	pg := testserver.Postgres(t)
	pooler := testserver.PgBouncer(t, pg, 2)
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		if t.Name() == "TestStatementsOfOtherTypes/library,_TLS" {
			return // PgBouncer has no certificate here
		}
		do := func(c protocol.Conn, p *protocol.Program, id int, args ...gen.Value) protocol.Reply {
			var reply protocol.Reply
			if c.Do(testContext(t), &p.Requests[id], args, &reply); reply.Class != protocol.OK {
				t.Fatalf("request %d: %+v", id, reply.Failure)
			}
			return reply
		}
		change := func(kind string) {
			execute(t, openAdmin(t, targetOf(pg)), "DROP TABLE IF EXISTS typed", "CREATE TABLE typed (v "+kind+")",
				"INSERT INTO typed VALUES (7)")
		}
		clients := map[string]protocol.Conn{}
		programs := map[string]*protocol.Program{}
		change("int8")
		for _, kind := range []string{"int8", "float8"} {
			if kind == "float8" { // it prepares its statement on the session that the first client doesn't occupy
				change(kind)
				do(clients["int8"], programs["int8"], 0)
			}
			programs[kind] = program(protocol.Request{Verb: protocol.Begin}, protocol.Request{Verb: protocol.Commit},
				sql("SELECT 1 FROM typed WHERE v = $1", gen.Int))
			clients[kind] = open(targetOf(pooler), programs[kind])
		}
		do(clients["int8"], programs["int8"], 1)
		other := program(protocol.Request{Verb: protocol.Begin}, protocol.Request{Verb: protocol.Commit})
		occupier := open(targetOf(pooler), other)
		for range 4 {
			if r := do(clients["float8"], programs["float8"], 2, integer(7)); r.Rows != 1 {
				t.Fatalf("%d rows are 7, want 1", r.Rows)
			}
			do(occupier, other, 0) // the session that was used last
			if r := do(clients["float8"], programs["float8"], 2, integer(7)); r.Rows != 1 {
				t.Fatalf("%d rows are 7, want 1", r.Rows)
			}
			do(occupier, other, 1)
		}
	})
}

// A statement that is added within a transaction can turn out to be prepared by another client. That ends the
// transaction, so the failure is one that another attempt overcomes, and the attempt succeeds.
func TestStatementsAddedInTransactionsBehindAPooler(t *testing.T) {
	pooler := testserver.PgBouncer(t, testserver.Postgres(t), 1)
	twice := sql("SELECT $1::int * 2 AS n", gen.Int)
	add := func(c protocol.Conn, id int) error {
		twice.ID = id
		return c.(protocol.AdHoc).Add(testContext(t), &twice)
	}
	open := func(p *protocol.Program) protocol.Conn {
		c, err := new(Driver).Dial(testContext(t), targetOf(pooler), p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	if err := add(open(program()), 0); err != nil {
		t.Fatal(err)
	}
	p := program(protocol.Request{Verb: protocol.Begin}, protocol.Request{Verb: protocol.Rollback})
	c := open(p)
	var reply protocol.Reply
	do := func(id int, args ...gen.Value) {
		t.Helper()
		if c.Do(testContext(t), &p.Requests[id], args, &reply); reply.Class != protocol.OK {
			t.Fatalf("%+v", reply.Failure)
		}
	}
	do(0)
	failure, _ := errors.AsType[*protocol.Error](add(c, 2))
	if failure == nil || failure.Class != protocol.Retryable || failure.Code != duplicatePrepared {
		t.Fatalf("got %v, want %s as retryable", failure, duplicatePrepared)
	}
	do(1)
	do(0)
	if err := add(c, 2); err != nil {
		t.Fatal(err)
	}
	if c.Do(testContext(t), &twice, []gen.Value{integer(21)}, &reply); reply.Class != protocol.OK {
		t.Fatalf("%+v", reply.Failure)
	}
	do(1)
}
