package cassandra

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/protocol/socket"
)

// types has a value of each type of CQL, as CQL writes it, and the text that is read. CQL's own toJson says whether a
// captured value that is sent back is the same one.
var types = []struct{ name, literal, text string }{
	{"tinyint", "-128", "-128"},
	{"smallint", "-32768", "-32768"},
	{"int", "-2147483648", "-2147483648"},
	{"bigint", "-9223372036854775808", "-9223372036854775808"},
	{"varint", "7", "7"},
	{"varint", "-123456789012345678901234567890123456789", "-123456789012345678901234567890123456789"},
	{"decimal", "12.50", "12.50"},
	{"decimal", "1234567890123456789012345678.9012345678", "12345678901234567890123456789012345678e-10"},
	{"decimal", "-1e+20", "-1e20"},
	{"float", "1.5", "1.5"},
	{"double", "-0.1", "-0.1"},
	{"boolean", "true", "true"},
	{"text", "'ё'", "ё"},
	{"ascii", "'a'", "a"},
	{"blob", "0x00ff", "00ff"},
	{"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	{"timeuuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	{"timestamp", "'2024-02-29T12:34:56.789Z'", "2024-02-29T12:34:56.789000Z"},
	{"date", "'2024-02-29'", "2024-02-29"},
	{"date", "'1492-10-12'", "1492-10-12"},
	{"time", "'23:59:59.123456789'", "23:59:59.123456789"},
	{"time", "'00:00:00'", "00:00:00"},
	{"inet", "'10.0.0.1'", "10.0.0.1"},
	{"inet", "'2001:db8::1'", "2001:db8::1"},
	{"duration", "14mo3d5h", "14mo3d18000000000000ns"},
	{"duration", "-1mo2d", "-1mo-2d0ns"},
	{"list<int>", "[1, 2]", "[1,2]"},
	{"set<text>", "{'a', 'b'}", `["a","b"]`},
	{"map<text, uuid>", "{'k': 123e4567-e89b-12d3-a456-426614174000}",
		`{"k":"123e4567-e89b-12d3-a456-426614174000"}`},
	{"list<frozen<list<decimal>>>", "[[1.5], [2.5]]", `[["1.5"],["2.5"]]`},
	{"frozen<pair>", "{a: 1, b: 'x'}", `{"a":1,"b":"x"}`},
	{"vector<float, 2>", "[1.5, 2.5]", "[1.5,2.5]"},
}

// TestValuesOfEachType reads a value of each type as a column, captures it, sends it back as an argument, and asks the
// server whether it is the same. A null is a null.
func TestValuesOfEachType(t *testing.T) {
	t.Parallel()
	target := node(t)
	prepare(t, target, "records", false) // makes the keyspace
	var made []string
	for i, c := range types {
		made = append(made, fmt.Sprintf("v%d %s", i, c.name))
	}
	run(t, target, "DROP TABLE IF EXISTS each_type", "DROP TYPE IF EXISTS pair", "CREATE TYPE pair (a int, b text)",
		"CREATE TABLE each_type (k int PRIMARY KEY, "+strings.Join(made, ", ")+")", "INSERT INTO each_type (k) VALUES (0)")
	p := &protocol.Program{}
	for i, c := range types {
		run(t, target, fmt.Sprintf("INSERT INTO each_type (k, v%d) VALUES (1, %s)", i, c.literal))
		for _, text := range []string{"SELECT v%d FROM each_type WHERE k = $1", "INSERT INTO each_type (k, v%d) VALUES (2, $1)",
			"SELECT toJson(v%d) FROM each_type WHERE k = $1"} {
			r := protocol.Request{ID: len(p.Requests), Verb: protocol.Command, Params: []gen.Kind{gen.Int},
				Words: strings.SplitN(fmt.Sprintf(text, i), " ", 2)}
			if r.Words[0] == "SELECT" {
				r.Capture = []protocol.Capture{{}}
			}
			p.Requests = append(p.Requests, r)
		}
	}
	conn, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	whole := func(i int64) gen.Value { return gen.Value{Kind: gen.Int, I: i} }
	for i, c := range types {
		t.Run(c.name+" "+c.literal, func(t *testing.T) {
			do := func(id int, arg gen.Value) (r protocol.Reply, shown string) {
				r.Each = func(_ []string, row []gen.Value) { shown = string(row[0].AppendText(nil)) }
				conn.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[3*i+id], []gen.Value{arg}, &r)
				if r.Class != protocol.OK {
					t.Fatalf("%+v", r.Failure)
				}
				return r, shown
			}
			if r, shown := do(0, whole(0)); r.Captured[0].Kind != gen.Null || shown != "NULL" {
				t.Errorf("a null is captured as %+v, shown as %s", r.Captured[0], shown)
			}
			r, shown := do(0, whole(1))
			if shown != c.text {
				t.Errorf("shown as %s, want %s", shown, c.text)
			}
			if _, _ = do(1, r.Captured[0]); true {
				_, mine := do(2, whole(2))
				if _, want := do(2, whole(1)); mine != want || want == "" {
					t.Errorf("sent back: %s, want %s", mine, want)
				}
			}
		})
	}
}

// TestPackedValuesFitTheirTypeAlone: what can only be sent back as it is isn't accepted elsewhere.
func TestPackedValuesFitTheirTypeAlone(t *testing.T) {
	t.Parallel()
	target := node(t)
	prepare(t, target, "records", false)
	run(t, target, "DROP TABLE IF EXISTS lists", "CREATE TABLE lists (k int PRIMARY KEY, l list<int>, b blob)",
		"INSERT INTO lists (k, l) VALUES (1, [1, 2])")
	p := &protocol.Program{Requests: []protocol.Request{
		{Verb: protocol.Command, Words: []string{"SELECT", "l FROM lists WHERE k = 1"}, Capture: []protocol.Capture{{}}},
		{ID: 1, Verb: protocol.Command, Words: []string{"INSERT", "INTO lists (k, b) VALUES (1, $1)"},
			Params: []gen.Kind{gen.Bytes}}}}
	conn, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var got, r protocol.Reply
	conn.Do(t.Context(), &p.Requests[0], nil, &got)
	if conn.Do(t.Context(), &p.Requests[1], got.Captured, &r); r.Class != protocol.Client ||
		!strings.Contains(r.Failure.Text, "of type list<int> isn't a blob") {
		t.Errorf("a list as blob: %+v", r.Failure)
	}
}

// run executes statements.
func run(t *testing.T, target protocol.Target, statements ...string) {
	t.Helper()
	for _, text := range statements {
		p := &protocol.Program{Requests: []protocol.Request{{Verb: protocol.Command, Words: strings.SplitN(text, " ", 2)}}}
		c, err := New().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		var r protocol.Reply
		if c.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[0], nil, &r); r.Class != protocol.OK {
			t.Fatalf("%s: %+v", text, r.Failure)
		}
		c.Close()
	}
}

// On a way of its own, the server's certificate must have the name that the target has, and not that of the way.
func TestNameOfTheCertificate(t *testing.T) {
	for address, want := range map[string]string{"db:9042": "db", "[2001:db8::1]:9042": "2001:db8::1"} {
		c, _, refused := cluster(protocol.Target{Address: address, TLS: &tls.Config{}, Way: &socket.Way{}}, &socket.Meter{})
		if refused != nil {
			t.Fatal(refused)
		}
		if got := c.SslOpts.ServerName; got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
