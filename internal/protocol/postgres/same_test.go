package postgres

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// script returns a program that receives every kind of answer, and the arguments of its requests in order.
func script() (*protocol.Program, [][]gen.Value) {
	capture := []protocol.Capture{{Name: "id"}, {Column: 1}}
	notice := sql("DO $$ BEGIN RAISE NOTICE 'a note'; RAISE WARNING 'another'; END $$")
	requests := []protocol.Request{
		{Verb: protocol.SQL, Simple: true,
			Text: "CREATE TEMP TABLE s (id int PRIMARY KEY, t text); SELECT 1; INSERT INTO s VALUES (0, 'zero')"},
		{Verb: protocol.SQL, Simple: true, Text: "SELECT id, t FROM s WHERE t = $1", Params: []gen.Kind{gen.String},
			Capture: capture},
		{Verb: protocol.SQL, Simple: true,
			Text:    "SELECT 1 WHERE false; SELECT 5 AS id, 'five' AS b UNION ALL SELECT 6, 'six'; SELECT 7, 'seven'",
			Capture: capture},
		{Verb: protocol.SQL, Simple: true, Text: "SELECT 1 AS other", Capture: capture},
		{Verb: protocol.SQL, Simple: true, Text: "SELECT * FROM nowhere"},
		{Verb: protocol.SQL, Simple: true, Text: "SELECT 1/0; SELECT 1"},
		{Verb: protocol.SQL, Simple: true, Text: ";"},
		{Verb: protocol.Begin}, {Verb: protocol.Begin, Text: "repeatable_read"}, {Verb: protocol.Commit},
		{Verb: protocol.Rollback},
		notice,
		sql("SELECT generate_series(1, $1::int), repeat('x', 1000)", gen.Int),
		{Verb: protocol.SQL, Text: "SELECT g AS id, repeat('y', $1::int) FROM generate_series(1, 3) g",
			Params: []gen.Kind{gen.Int}, Capture: capture},
		sql("SELECT 1/$1::int", gen.Int),
		{Verb: protocol.SQL, Text: "SELECT 1 AS id, $1::int WHERE false", Params: []gen.Kind{gen.Int}, Capture: capture},
		sql("WITH a AS (SELECT $1::int) UPDATE pg_temp_none SET x = 1", gen.Int),
	}
	requests = requests[:16]
	for _, simple := range []bool{true, false} {
		for _, text := range []string{"INSERT INTO pg_catalog.pg_class SELECT FROM pg_class", "SET work_mem = '1MB'"} {
			if simple || strings.HasPrefix(text, "SET") {
				requests = append(requests, protocol.Request{Verb: protocol.SQL, Simple: simple, Text: text})
			}
		}
	}
	p := program(requests...)
	args := make([][]gen.Value, len(requests))
	args[1] = []gen.Value{text("zero")}
	args[12] = []gen.Value{integer(5000)}
	args[13] = []gen.Value{integer(300000)}
	args[14] = []gen.Value{integer(0)}
	args[15] = []gen.Value{integer(1)}
	return p, args
}

// summary returns the parts of a reply that two clients must agree on.
func summary(r *protocol.Reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rows %d affected %d %+v", r.Rows, r.Affected, r.Failure)
	for i := range r.Captured {
		s := show(&r.Captured[i])
		fmt.Fprintf(&b, " [%d %.40s]", len(s), s)
	}
	return b.String()
}

func play(t *testing.T, conn protocol.Conn, p *protocol.Program, args [][]gen.Value) (out []string, bytes int64) {
	var reply protocol.Reply
	order := []int{0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 14, 1, 9, 1, 11, 12, 13, 14, 15, 16, 17, 18}
	for _, i := range order {
		conn.Do(testContext(t), &p.Requests[i], args[i], &reply)
		out = append(out, fmt.Sprintf("%d: %s", i, summary(&reply)))
		bytes += reply.BytesIn
	}
	return out, bytes
}

// The codec and another client get the same answers to the same program, for each way of driving the codec and for
// bytes that arrive in any pieces. The byte counts are the same too.
func TestClientsAgree(t *testing.T) {
	p, args := script()
	want, _ := play(t, openOracle(t, targetOf(server(t)), p), p, args)
	secure := targetOf(server(t))
	secure.TLS = server(t).TLS
	pieces := func(n int) protocol.Conn {
		w := takeover(t, targetOf(server(t)), p)
		w.piece = n
		return w
	}
	_, bytes := play(t, pieces(0), p, args)
	for _, c := range []struct {
		name string
		conn protocol.Conn
	}{
		{"blocking", dial(t, targetOf(server(t)), p)}, {"blocking, TLS", dial(t, secure, p)},
		{"as a loop", pieces(0)},
		{"in pieces of 1000", pieces(1000)}, {"in pieces of 7", pieces(7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, counted := play(t, c.conn, p, args)
			if counted != bytes {
				t.Errorf("%d bytes were received, want %d", counted, bytes)
			}
			for i, got := range all {
				if got != want[i] {
					t.Errorf("\n codec  %s\n oracle %s", got, want[i])
				}
			}
		})
	}
	all := strings.Join(want, "\n")
	for _, part := range []string{
		"0: rows 1 affected 1", "1: rows 1 affected 0", "[5 int 0] [11 string zero]", "2: rows 3 affected 0 {Class:ok",
		"[5 int 5] [11 string five]",
		"3: rows 1 affected 0", `captured column "id" isn't in the result`, "Class:server Code:42P01",
		"Class:server Code:22012",
		"COMMIT was answered with ROLLBACK", "Class:server Code:25P02", "12: rows 5000",
		"13: rows 3", "[5 int 1] [300007 string yyyy", "15: rows 0 affected 0", "[4 null] [4 null]", "Class:server Code:42",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("the script's answers lack %q:\n%s", part, all)
		}
	}
}

// Requests that are sent together are answered in order, and a failure affects only its own request.
func TestPipeline(t *testing.T) {
	p := program(protocol.Request{Verb: protocol.SQL, Text: "SELECT 12 / $1::int, repeat('x', 3000)",
		Params:  []gen.Kind{gen.Int},
		Capture: []protocol.Capture{{Column: 0}}})
	w := takeover(t, targetOf(server(t)), p)
	req := &p.Requests[0]
	var out []byte
	for i := range 16 {
		var refused *protocol.Error
		if out, refused = w.codec.Encode(out, req, []gen.Value{integer(int64(i % 4))}); refused != nil {
			t.Fatal(refused)
		}
	}
	if _, err := w.file.Write(out); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		var reply protocol.Reply
		reply.Reset(1)
		w.await(req, &reply)
		d := i % 4
		if d == 0 {
			if reply.Code != "22012" || reply.Fatal {
				t.Errorf("request %d: %+v, want a division by zero", i, reply.Failure)
			}
		} else if got := reply.Captured[0].I; reply.Class != protocol.OK || got != int64(12/d) {
			t.Errorf("request %d: got %d %+v, want %d", i, got, reply.Failure, 12/d)
		}
	}
}

// If a value can't be sent, nothing remains in the output.
func TestEncodeRefusalLeavesNothing(t *testing.T) {
	p := program(sql("SELECT $1::text, $2::int2", gen.String, gen.Int))
	w := takeover(t, targetOf(server(t)), p)
	out, refused := w.codec.Encode([]byte("before"), &p.Requests[0], []gen.Value{text("a"), integer(1 << 20)})
	if string(out) != "before" || refused == nil || refused.Class != protocol.Client {
		t.Errorf("got %q, %v", out, refused)
	}
	if _, refused = w.codec.Encode(nil, &p.Requests[0], nil); refused == nil || refused.Class != protocol.Client {
		t.Errorf("no arguments for two parameters: %v", refused)
	}
}
