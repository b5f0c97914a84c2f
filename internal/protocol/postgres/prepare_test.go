package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// manyStatements returns a program so long that sessions prepare a statement when they first use it. Each statement
// adds its own number; the first is part of a transaction.
func manyStatements() *protocol.Program {
	requests := []protocol.Request{{Verb: protocol.Begin}, {Verb: protocol.Commit}}
	for i := len(requests); i < preparedAtOnce*2+100; i++ {
		r := sql(fmt.Sprintf("SELECT $1::int + %d AS n, 'x'", i), gen.Int)
		r.Capture = []protocol.Capture{{Name: "n", Kind: gen.Int}}
		requests = append(requests, r)
	}
	return program(requests...)
}

// A session of a long program prepares only the statements that it uses. The answers are the same as if all were
// prepared at once, also the second time and after a value that couldn't be sent.
func TestManyStatementsArePreparedWhenUsed(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := manyStatements()
		p.Requests = append(p.Requests, protocol.Request{ID: len(p.Requests), Name: "kept", Verb: protocol.SQL,
			Text: "SELECT count(*) AS n FROM pg_prepared_statements", Capture: []protocol.Capture{{Name: "n", Kind: gen.Int}}})
		last := len(p.Requests) - 1
		c := open(targetOf(server(t)), p)
		var reply protocol.Reply
		do := func(id int, args ...gen.Value) int64 {
			t.Helper()
			c.Do(testContext(t), &p.Requests[id], args, &reply)
			if reply.Class != protocol.OK {
				t.Fatalf("request %d: %+v", id, reply.Failure)
			}
			if len(reply.Captured) == 0 {
				return 0
			}
			return reply.Captured[0].I
		}
		c.Do(testContext(t), &p.Requests[2], []gen.Value{integer(1 << 40)}, &reply)
		if reply.Class != protocol.Client || reply.Fatal {
			t.Fatalf("a value too large: %+v", reply.Failure)
		}
		do(0)
		for _, id := range []int{2, 3, last - 1, 2, 3} {
			if n := do(id, integer(5)); n != int64(id)+5 {
				t.Errorf("request %d answers %d", id, n)
			}
		}
		do(1)
		if n := do(last); n != 4 {
			t.Errorf("the session has prepared %d statements, want those used and this one: 4", n)
		}
	})
}

// The check of a long program names the statement that the server refuses, reports its progress, ignores expected
// refusals, and continues where it failed.
func TestCheckOfManyStatements(t *testing.T) {
	p := manyStatements()
	p.Requests[5] = protocol.Request{ID: 5, Name: "expected", Verb: protocol.SQL, Text: "SELECT nothing",
		ExpectError: true}
	p.Requests[1500] = protocol.Request{ID: 1500, Name: "wrong", Verb: protocol.SQL, Text: "SELEC 1"}
	var told []int
	tell := func(done, all int) { told = append(told, done) }
	err := New().Check(testContext(t), targetOf(server(t)), p, tell)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Class != protocol.Server || e.Code != "42601" ||
		!strings.Contains(e.Text, `request "wrong": `) {
		t.Fatalf("%v", err)
	}
	if len(told) != 1 || told[0] != preparedAtOnce || planned(p).described != 1500 {
		t.Errorf("told %d, described %d", told, planned(p).described)
	}
	var reply protocol.Reply
	p = program(p.Requests[:1500]...)
	c := dial(t, targetOf(server(t)), p)
	if c.Do(testContext(t), &p.Requests[5], nil, &reply); reply.Code != "42703" {
		t.Errorf("expected to fail as sent: %+v", reply.Failure)
	}
}

// A statement that is refused when the session connects, because its table isn't there yet, gives captured values once
// it is.
func TestCapturesOfATableThatComesLater(t *testing.T) {
	request := protocol.Request{Name: "later", Verb: protocol.SQL, Text: "SELECT a, b FROM later WHERE a = $1",
		Params: []gen.Kind{gen.Int}, Capture: []protocol.Capture{{Column: 1}}, ExpectError: true}
	p := program(request)
	c := dial(t, targetOf(server(t)), p)
	a := openAdmin(t, targetOf(server(t)))
	execute(t, a, "CREATE TABLE later (a int, b text)", "INSERT INTO later VALUES (1, 'one'), (2, 'two')")
	defer execute(t, a, "DROP TABLE later")
	for k, want := range []string{"one", "two"} {
		var reply protocol.Reply
		reply.Reset(1)
		c.Do(testContext(t), &p.Requests[0], []gen.Value{integer(int64(k + 1))}, &reply)
		if len(reply.Captured) != 1 || string(reply.Captured[0].B) != want {
			t.Errorf("captured %v, want %s: %+v", reply.Captured, want, reply.Failure)
		}
	}
}

// If preparing doesn't end in time, the error says so.
func TestPreparingTakesTooLong(t *testing.T) {
	a := openAdmin(t, targetOf(server(t)))
	execute(t, a, "CREATE TABLE locked (id int)")
	defer execute(t, a, "DROP TABLE locked")
	holder := openAdmin(t, targetOf(server(t)))
	execute(t, holder, "BEGIN", "LOCK TABLE locked")
	defer execute(t, holder, "ROLLBACK")
	pg, err := connect(testContext(t), targetOf(server(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer closeNow(pg)
	ctx, cancel := context.WithTimeout(testContext(t), 100*time.Millisecond)
	defer cancel()
	_, e := prepare(ctx, pg, password, planned(program(sql("SELECT * FROM locked"))).session(),
		(*statement).name, nil)
	if e == nil || e.Class != protocol.Timeout ||
		!strings.Contains(e.Text, `request "r": the server hasn't prepared it within the time for connecting; `) {
		t.Errorf("%v", e)
	}
}

// The server prepares one statement of a text only. What to write depends on the parameters.
func TestSeveralStatementsInOneText(t *testing.T) {
	for _, c := range []struct {
		code, text string
		params     []gen.Kind
		want       string
	}{
		{"42601", "cannot insert multiple commands into a prepared statement", nil, "simple: true"},
		{"42601", "cannot insert multiple commands into a prepared statement", []gen.Kind{gen.Int}, "; write a transaction"},
		{"42601", "syntax error at or near \"selec\"", nil, ""},
	} {
		got := hintOf(&protocol.Error{Code: c.code, Text: c.text}, &protocol.Request{Params: c.params})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s with %d parameters: %q, want %q", c.text, len(c.params), got, c.want)
		}
	}
}
