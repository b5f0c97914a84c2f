package iproto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

func openAdmin(t *testing.T, to protocol.Target) protocol.Admin {
	t.Helper()
	ctx, cancel := within()
	defer cancel()
	a, err := New().Admin(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func lines(t *testing.T, a protocol.Admin, statement string) []string {
	t.Helper()
	var list []string
	ctx, cancel := within()
	defer cancel()
	if err := a.Query(ctx, statement, func(values []*string) error {
		var words []string
		for _, v := range values {
			if v == nil {
				words = append(words, "NULL")
			} else {
				words = append(words, *v)
			}
		}
		list = append(list, strings.Join(words, " "))
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return list
}

func chunk(first, rows uint64, told *uint64) *protocol.Chunk {
	return &protocol.Chunk{
		Table: "cars_q", Keys: []string{"id"}, First: first, Rows: rows,
		Columns: []protocol.Column{{Name: "brand", Type: "string"}, {Name: "id", Type: "integer"},
			{Name: "price", Type: "double"}},
		Row: func(values []gen.Value, row uint64) {
			values[0].SetString(fmt.Sprint("brand", row))
			values[1].SetInt(int64(row))
			if values[2].SetNull(); row%2 == 0 {
				values[2].Kind, values[2].F = gen.Float, float64(row)
			}
		},
		Progress: func(n uint64) { *told += n },
	}
}

const carsTable = `CREATE TABLE "cars_q" ("id" INTEGER PRIMARY KEY, "brand" STRING, "price" DOUBLE, "extra" STRING)`

// The servers are a Tarantool, a Picodata that accepts EXECUTE, and one that accepts only CALL.
func TestAdminLoads(t *testing.T) {
	for name, mode := range map[string]string{"Tarantool": "", "Picodata by text": "execute", "Picodata by call": "call"} {
		t.Run(name, func(t *testing.T) {
			program := lua
			if mode != "" {
				program += shim
			}
			s := testserver.Tarantool(t, testserver.Lua(program))
			to := target(s)
			to.Options = map[string]string{"sql": mode}
			a := openAdmin(t, to)
			ctx, cancel := within()
			defer cancel()
			if _, err := a.Exec(ctx, carsTable+";"); err != nil {
				t.Fatal(err)
			}
			var told uint64
			rows := uint64(3000)
			replace := mode == "call" || mode == "" // the shim translates ON CONFLICT in calls only
			n, err := a.Load(ctx, chunk(10, rows, &told), false)
			if err != nil || n != int64(rows) || told != rows {
				t.Fatalf("loaded %d, told of %d, %v", n, told, err)
			}
			if replace {
				if n, err = a.Load(ctx, chunk(5, 10, &told), true); err != nil || n != 10 {
					t.Fatalf("replaced %d, %v", n, err)
				}
				rows += 5
			}
			if got := lines(t, a, `SELECT COUNT(*), COUNT("price"), MAX("id"), SUM("id") FROM "cars_q"`); len(got) != 1 ||
				!strings.HasPrefix(got[0], fmt.Sprintf("%d %d 3009", rows, 1500+(rows-3000)/2)) {
				t.Errorf("the table holds %v", got)
			}
			if got := lines(t, a, `SELECT * FROM "cars_q" WHERE "id" IN (10, 11) ORDER BY "id"`); strings.Join(got,
				"; ") != "10 brand10 10 NULL; 11 brand11 NULL NULL" {
				t.Errorf("rows %v", got)
			}
			if n, err := a.Exec(ctx, `DELETE FROM "cars_q" WHERE "id" < 20`); err != nil || n != int64(rows)-2990 {
				t.Errorf("deleted %d, %v", n, err)
			}
			if _, err := a.Load(ctx, chunk(25, 1, &told), false); err == nil || !strings.Contains(err.Error(), "load cars_q") ||
				protocol.AsError(err).Class != protocol.Server {
				t.Errorf("loading a row twice: got %v", err)
			}
			a = openAdmin(t, to)
			stop := errors.New("enough")
			if err := a.Query(ctx, `SELECT * FROM "cars_q"`, func([]*string) error { return stop }); err != stop {
				t.Errorf("the callback's error came back as %v", err)
			}
			if _, err := a.Exec(ctx, "SELECT nothing FROM nowhere"); protocol.AsError(err).Class != protocol.Server {
				t.Errorf("a wrong statement: got %v", err)
			}
			for range 2 {
				if err := a.Close(); err != nil {
					t.Errorf("closing twice: %v", err)
				}
			}
		})
	}
}

func TestLoadFaults(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	a := openAdmin(t, target(s))
	ctx, cancel := within()
	defer cancel()
	var told uint64
	if _, err := a.Load(ctx, chunk(0, 1, &told), false); err == nil ||
		!strings.Contains(err.Error(), `no space "cars_q"`) {
		t.Errorf("no table: got %v", err)
	}
	if _, err := a.Exec(ctx, carsTable); err != nil {
		t.Fatal(err)
	}
	c := chunk(0, 100_000, &told)
	row := c.Row
	c.Row = func(values []gen.Value, n uint64) {
		if n == 5000 {
			s.Kill()
		}
		row(values, n)
	}
	if _, err := a.Load(ctx, c, false); protocol.AsError(err).Class != protocol.UnknownOutcome {
		t.Errorf("killed mid-load: got %v", err)
	}
	s.Restart()
	a = openAdmin(t, target(s))
	short, stop := context.WithCancel(ctx)
	c.Row = func(values []gen.Value, n uint64) {
		if n == 5000 {
			stop()
		}
		row(values, n)
	}
	if _, err := a.Load(short, c, true); err == nil {
		t.Error("a load whose context ended came to its end")
	}
}

func TestDescribe(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	ctx, cancel := within()
	defer cancel()
	info, err := New().Describe(ctx, target(s))
	if err != nil || info.Product != "Tarantool" || !strings.HasPrefix(info.Version, "2.") ||
		info.Settings["wal_mode"] != "write" || info.Settings["memtx_memory"] != "268435456" {
		t.Errorf("got %+v, %v", info, err)
	}
	s = testserver.Tarantool(t, testserver.Lua(lua+shim))
	info, err = New().Describe(ctx, target(s))
	if err != nil || info.Product != "Picodata" || info.Version != "25.3.1" || info.Settings["tarantool"] == "" {
		t.Errorf("got %+v, %v", info, err)
	}
}

// If the user may not run programs, the product and version are still known.
func TestDescribeWithoutRights(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua("box.schema.user.create('poor', {password = 'poor-test', if_not_exists = true})"))
	to := target(s)
	to.User, to.Password = "poor", "poor-test"
	info, err := New().Describe(t.Context(), to)
	if err != nil || info.Product != "Tarantool" || len(info.Settings) != 0 {
		t.Errorf("got %+v, %v", info, err)
	}
}

// Own statements have texts that are never sent over Picodata's other protocol; their constants don't change.
func TestOwnStatementsDifferFromThoseOfPgproto(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua+shim+`
sent = {}
local execute = box.execute
box.execute = function(q, ...) table.insert(sent, q) return execute(q, ...) end`))
	to := target(s)
	to.Options = map[string]string{"sql": "call"}
	a, err := New().Admin(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const text = `SELECT COUNT(*) FROM "kv" WHERE "name" = 'a b'`
	if err := a.Query(t.Context(), text, func([]*string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	p := program(protocol.Request{Verb: protocol.Eval, Text: "return sent[#sent]", Capture: []protocol.Capture{{}}})
	conn, err := New().Dial(t.Context(), target(s), p)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var reply protocol.Reply
	conn.Do(t.Context(), &p.Requests[0], nil, &reply)
	if reply.Class != protocol.OK || string(reply.Captured[0].B) != `SELECT  COUNT(*) FROM "kv" WHERE "name" = 'a b'` {
		t.Errorf("the server was sent %s", show(&reply))
	}
}

// Statements are sent to Picodata as text or, if that is refused, by a call. The results are the same.
func TestPicodataStatements(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua+shim+"box.space.kv:replace({7, 'six'})"))
	p := program(
		protocol.Request{Verb: protocol.SQL, Text: `UPDATE "kv" SET "name" = $2 WHERE "id" = $1`, Params: kinds(2)},
		protocol.Request{Verb: protocol.SQL, Text: `SELECT "id", "name" FROM "kv" WHERE "id" = $1`, Params: kinds(1),
			Capture: []protocol.Capture{{Name: "name"}, {Kind: gen.Int}}},
		protocol.Request{Verb: protocol.SQL, Text: `SELECT nothing FROM nowhere`, ExpectError: true},
	)
	for _, mode := range []string{"", "execute", "call"} {
		to := target(s)
		to.Options = map[string]string{"sql": mode}
		for tier, c := range tiers(t, to, p) {
			ctx, cancel := within()
			var reply protocol.Reply
			c.Do(ctx, &p.Requests[0], []gen.Value{num(7), txt("seven")}, &reply)
			if got := show(&reply); got != "ok  rows=0 affected=1 missing=false" {
				t.Errorf("%s %s: update: %s %s", mode, tier, got, reply.Text)
			}
			c.Do(ctx, &p.Requests[1], []gen.Value{num(7)}, &reply)
			if got := show(&reply); got != `ok  rows=1 affected=0 missing=false 6:"seven" 2:7` {
				t.Errorf("%s %s: select: %s %s", mode, tier, got, reply.Text)
			}
			c.Do(ctx, &p.Requests[2], nil, &reply)
			if reply.Class != protocol.Server {
				t.Errorf("%s %s: a wrong statement: %s", mode, tier, show(&reply))
			}
			cancel()
		}
	}
	if _, err := New().Dial(t.Context(), target(s),
		program(protocol.Request{Verb: protocol.Insert, Text: "kv", Params: kinds(1)})); err == nil ||
		!strings.Contains(err.Error(), "SQL only") {
		t.Errorf("an insert request to Picodata: got %v", err)
	}
}
