package iproto

import (
	"context"
	"strings"
	"testing"

	"github.com/tarantool/go-tarantool/v2"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

type call struct {
	request protocol.Request
	args    []gen.Value
	want    string // as show returns it; a * at the end matches the rest
}

func requests(calls []call) *protocol.Program {
	var list []protocol.Request
	for i := range calls {
		r := calls[i].request
		r.Params = kinds(len(calls[i].args))
		list = append(list, r)
	}
	return program(list...)
}

// The same program returns the same replies in both tiers, and they are those that follow from the server's data.
func TestRequestsInBothTiers(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	name := []protocol.Capture{{Name: "name", Kind: gen.String}, {Column: 0, Kind: gen.Uint}}
	calls := []call{
		{protocol.Request{Verb: protocol.Delete, Text: "kv"}, []gen.Value{num(1)}, "ok  rows=* "},
		{protocol.Request{Verb: protocol.Insert, Text: "kv"}, []gen.Value{num(1), txt("one"), {Kind: gen.Float, F: 1.5}},
			"ok  rows=1 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Insert, Text: "kv"}, []gen.Value{num(1), txt("again")},
			"server 3 rows=0 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Replace, Text: "kv", Fields: []string{"n", "id"}}, []gen.Value{txt("x"), num(200)},
			"ok  rows=1 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Select, Text: "kv.primary", Capture: name}, []gen.Value{num(1)},
			`ok  rows=1 affected=0 missing=false 6:"one" 3:1`},
		{protocol.Request{Verb: protocol.Select, Text: "kv", Capture: name}, []gen.Value{num(77)},
			"ok  rows=0 affected=0 missing=true null null"},
		{protocol.Request{Verb: protocol.Select, Text: "kv.names"}, []gen.Value{txt("one")},
			"ok  rows=1 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Select, Text: "kv iterator GT limit 1", Capture: name}, []gen.Value{num(1)},
			"ok  rows=1 affected=0 missing=false null 3:200"},
		{protocol.Request{Verb: protocol.Select, Text: "kv"}, nil, "ok  rows=2 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Update, Text: "kv", Fields: []string{"name"}}, []gen.Value{num(1), txt("uno")},
			"ok  rows=1 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Update, Text: "kv"}, []gen.Value{num(9), txt("nine")},
			"ok  rows=0 affected=0 missing=true"},
		{protocol.Request{Verb: protocol.Upsert, Text: "kv"}, []gen.Value{num(1), txt("ein"), num(5)},
			"ok  rows=0 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Read, Text: "kv", Capture: []protocol.Capture{{Name: "name"},
			{Name: "n", Kind: gen.Int}}}, []gen.Value{num(1)}, `ok  rows=1 affected=0 missing=false 6:"ein" 2:5`},
		{protocol.Request{Verb: protocol.Read, Text: "kv"}, []gen.Value{num(99)}, "ok  rows=0 affected=0 missing=true"},
		{protocol.Request{Verb: protocol.Scan, Text: "kv"}, []gen.Value{num(1), num(10)},
			"ok  rows=2 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Upsert, Text: "pair.s"}, []gen.Value{num(-5), txt("k"), num(1)},
			"ok  rows=0 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Update, Text: "pair.s"}, []gen.Value{num(-5), txt("k"), num(2)},
			"ok  rows=1 affected=1 missing=false"},
		{protocol.Request{Verb: protocol.Select, Text: "pair.s.pk",
			Capture: []protocol.Capture{{Name: "c", Kind: gen.Float}}}, []gen.Value{num(-5), txt("k")},
			"ok  rows=1 affected=0 missing=false 4:2"},

		{protocol.Request{Verb: protocol.Call, Text: "add", Capture: []protocol.Capture{{Kind: gen.Int}}},
			[]gen.Value{num(1000), num(-7)}, "ok  rows=1 affected=0 missing=false 2:993"},
		{protocol.Request{Verb: protocol.Call, Text: "tuples", Capture: []protocol.Capture{{Column: 1}}}, nil,
			`ok  rows=1 affected=0 missing=false 6:"ein"`},
		{protocol.Request{Verb: protocol.Call, Text: "one", Capture: []protocol.Capture{{Column: 1}, {Column: 9}}}, nil,
			`ok  rows=1 affected=0 missing=false 6:"ein" null`},
		{protocol.Request{Verb: protocol.Call, Text: "field", Capture: []protocol.Capture{{Name: "answer"}, {Name: "other"}}},
			nil, "ok  rows=1 affected=0 missing=false 2:42 null"},
		{protocol.Request{Verb: protocol.Call, Text: "big"}, []gen.Value{num(300_000)},
			"ok  rows=1 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Call, Text: "push", Capture: []protocol.Capture{{}}}, nil,
			"ok  rows=1 affected=0 missing=false 2:7"},
		{protocol.Request{Verb: protocol.Call, Text: "fail"}, nil, "retryable 7 rows=0 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Call, Text: "nobody"}, nil, "server 33 rows=0 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Eval, Text: "return ..."}, []gen.Value{num(1), txt("a"), {}},
			"ok  rows=3 affected=0 missing=false"},
		{protocol.Request{Verb: protocol.Eval, Text: "local a, b = ... return a + b",
			Capture: []protocol.Capture{{Kind: gen.Int}}}, []gen.Value{{Kind: gen.Uint, I: 40}, num(2)},
			"ok  rows=1 affected=0 missing=false 2:42"},
		{protocol.Request{Verb: protocol.Call, Text: "echo", Capture: []protocol.Capture{{}, {Column: 1}, {Column: 2},
			{Column: 3}, {Column: 4}}},
			[]gen.Value{{Kind: gen.Decimal, I: -12345, Scale: 2}, {Kind: gen.UUID, B: []byte("0123456789abcdef")},
				{Kind: gen.Bool, I: 1}, {Kind: gen.Uint, I: -1}, {Kind: gen.Bytes, B: []byte{0, 1}}},
			`ok  rows=5 affected=0 missing=false 5:-12345 *`},

		{protocol.Request{Verb: protocol.SQL, Text: `SELECT "id" AS key, "name" FROM "kv" WHERE "id" = $1`,
			Capture: []protocol.Capture{{Name: "key", Kind: gen.Int}, {Name: "name"}}}, []gen.Value{num(1)},
			`ok  rows=1 affected=0 missing=false 2:1 6:"ein"`},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT "id" FROM "kv" WHERE "id" = $1`, Simple: true},
			[]gen.Value{num(1)}, `ok  rows=1 affected=0 missing=false`},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT 1`, Capture: []protocol.Capture{{Name: "nope"}}}, nil,
			"client  rows=1 affected=0 missing=false null"},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT $1`, Capture: []protocol.Capture{{Kind: gen.UUID}}},
			[]gen.Value{txt("x")}, "client  rows=1 affected=0 missing=false null"},
		{protocol.Request{Verb: protocol.SQL, Text: `UPDATE "kv" SET "name" = $1 WHERE "id" < $2`},
			[]gen.Value{txt("all"), num(1000)}, "ok  rows=0 affected=2 missing=false"},
		{protocol.Request{Verb: protocol.SQL, Text: `UPDATE "kv" SET "name" = $1 WHERE "id" = $2`},
			[]gen.Value{txt("all"), num(999)}, "ok  rows=0 affected=0 missing=true"},
		{protocol.Request{Verb: protocol.SQL, Text: `DELETE FROM "kv" WHERE "id" = $1`}, []gen.Value{num(999)},
			"ok  rows=0 affected=0 missing=true"},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT "id" FROM "kv" WHERE "id" = $1`}, []gen.Value{num(999)},
			"ok  rows=0 affected=0 missing=true"},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT nothing FROM nowhere`, ExpectError: true}, nil, "server *"},
		{protocol.Request{Verb: protocol.SQL, Text: `SELECT $1 + $2`}, []gen.Value{num(5), txt("abc")}, "server *"},
	}
	p := requests(calls)
	sizes := map[int]int64{}
	for tier, c := range tiers(t, target(s), p) {
		for i := range calls {
			var reply protocol.Reply
			ctx, cancel := within()
			c.Do(ctx, &p.Requests[i], calls[i].args, &reply)
			cancel()
			got := show(&reply)
			want, prefix := strings.CutSuffix(strings.TrimSpace(calls[i].want), "*")
			if got != want && !(prefix && strings.HasPrefix(got, want)) {
				t.Errorf("%s: %s %q: got %s (%s), want %s", tier, p.Requests[i].Name, p.Requests[i].Text, got, reply.Text, want)
			}
			if reply.Class != protocol.OK || i == 0 {
				continue
			}
			if sizes[i] == 0 {
				sizes[i] = reply.BytesIn
			}
			if reply.BytesIn < greetingSize/8 || reply.BytesIn != sizes[i] {
				t.Errorf("%s: %s: an answer of %d bytes, in another tier %d", tier, p.Requests[i].Name, reply.BytesIn, sizes[i])
			}
		}
	}
}

// The client library can read what the codec writes.
func TestLibraryReadsWhatTheCodecWrites(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	p := program(protocol.Request{Verb: protocol.Replace, Text: "kv", Params: kinds(3)})
	c := tiers(t, target(s), p)["torn"]
	numbers := []int64{0, 1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<63 - 1, -1, -32, -33, -128, -129,
		-32768, -32769, -1 << 31, -1<<31 - 1, -1 << 63}
	for i, n := range numbers {
		var reply protocol.Reply
		ctx, cancel := within()
		c.Do(ctx, &p.Requests[0], []gen.Value{num(int64(i)), txt(strings.Repeat("ä", i*i*20)), num(n)}, &reply)
		cancel()
		if reply.Class != protocol.OK {
			t.Fatalf("%d: %s", n, reply.Text)
		}
	}
	ctx, cancel := within()
	defer cancel()
	library, err := tarantool.Connect(ctx, tarantool.NetDialer{Address: s.Addr, User: s.User, Password: s.Password},
		tarantool.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	var rows []struct {
		_msgpack struct{} `msgpack:",asArray"`
		ID       uint64
		Name     string
		N        int64
	}
	if err := library.Do(tarantool.NewSelectRequest("kv").Limit(100)).GetTyped(&rows); err != nil ||
		len(rows) != len(numbers) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if r.N != numbers[i] || len(r.Name) != 2*i*i*20 {
			t.Errorf("row %d holds %d and %d bytes, want %d and %d", i, r.N, len(r.Name), numbers[i], 40*i*i)
		}
	}
}

func TestProgramFaults(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	to := target(s)
	for want, r := range map[string]protocol.Request{
		"no transactions over several requests": {Verb: protocol.Begin},
		"no transactions over several":          {Verb: protocol.SQL, Text: "BEGIN"},
		"no such request":                       {Verb: protocol.HTTP},
		`no space "nowhere"`:                    {Verb: protocol.Insert, Text: "nowhere", Params: kinds(1)},
		`no index "nope"`:                       {Verb: protocol.Select, Text: "kv.nope", Params: kinds(1)},
		`no field "nope"`: {Verb: protocol.Update, Text: "kv", Fields: []string{"nope"},
			Params: kinds(2)},
		"takes the key":           {Verb: protocol.Update, Text: "kv", Params: kinds(1)},
		"isn't of the form":       {Verb: protocol.Select, Text: "kv limit x", Params: kinds(1)},
		"first key and the count": {Verb: protocol.Scan, Text: "kv", Params: kinds(1)},
		`has no field "nope"`: {Verb: protocol.Select, Text: "kv",
			Capture: []protocol.Capture{{Name: "nope"}}},
	} {
		ctx, cancel := within()
		_, err := New().Dial(ctx, to, program(r))
		e := protocol.AsError(err)
		if err == nil || e.Class != protocol.Client || !strings.Contains(e.Text, want) {
			t.Errorf("dial: got %v, want %q", err, want)
		}
		if _, err := New().Open(ctx, to, program(r)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("take over: got %v, want %q", err, want)
		}
		cancel()
	}
	to.Options = map[string]string{"sqll": "x"}
	if why, ok := New().Takes(to, program()); ok || !strings.Contains(why, `unknown option "sqll" of iproto`) {
		t.Errorf("an unknown option was taken: %s", why)
	}
	to.Options = map[string]string{"sql": "x"}
	if _, err := New().Describe(context.Background(), to); err == nil {
		t.Error("a wrong value of an option was taken")
	}
}
