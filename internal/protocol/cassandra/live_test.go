package cassandra

import (
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

func node(t *testing.T) protocol.Target {
	s := servers.Get(t, "cassandra", func(t testserver.TB) *testserver.Server {
		return testserver.Cassandra(t, testserver.Password("cassandra"))
	})
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
}

func prepare(t *testing.T, target protocol.Target, table string, drop bool) {
	t.Helper()
	if err := New().Prepare(t.Context(), target, table, []string{"field0", "field1"}, 100, drop); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, target protocol.Target, p *protocoltest.Records) protocol.Conn {
	t.Helper()
	c, err := New().Dial(t.Context(), target, &p.Program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRecords(t *testing.T) {
	t.Parallel()
	a := protocoltest.Abilities{Scans: true, Unsorted: true, Batches: true, Blind: true}
	p := protocoltest.NewRecords("records", a)
	target := node(t)
	target.Options = map[string]string{"consistency": "LOCAL_QUORUM"}
	prepare(t, target, "records", false)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	for _, drop := range []bool{false, true} {
		prepare(t, target, "records", drop)
		fresh := dial(t, target, p)
		if r := p.Read(t, fresh, "one"); r.Class != protocol.OK || r.Missing != drop {
			t.Errorf("drop %v: %+v", drop, r)
		}
	}
	if r := p.Do(t, c, 0, "one", "not \xff UTF-8", "x"); r.Class != protocol.Server || r.Code != "0x2200" || r.Fatal {
		t.Errorf("bytes that aren't text: %+v", r.Failure)
	}
	c.Close()
	c.Close()
}

// A table may be in another keyspace than the session's. Its columns may have other types than those that brunt makes.
func TestRecordsOfAnotherKeyspace(t *testing.T) {
	t.Parallel()
	target := node(t)
	prepare(t, target, "records", false)
	run(t, target, "CREATE KEYSPACE IF NOT EXISTS elsewhere WITH replication = {'class': 'SimpleStrategy', "+
		"'replication_factor': 1}", "DROP TABLE IF EXISTS elsewhere.records",
		"CREATE TABLE elsewhere.records (ycsb_key text PRIMARY KEY, field0 text, n int, d date, b blob)",
		"INSERT INTO elsewhere.records (ycsb_key, n, d, b) VALUES ('one', 7, '2024-02-29', 0xff00)")
	read := protocol.Request{Verb: protocol.Read, Text: "elsewhere.records", Fields: []string{"n", "d", "b", "field0"}}
	for _, name := range read.Fields[:3] {
		read.Capture = append(read.Capture, protocol.Capture{Name: name})
	}
	c, err := New().Dial(t.Context(), target, &protocol.Program{Requests: []protocol.Request{read}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r protocol.Reply
	c.Do(protocoltest.Within(t, 20*time.Second), &read, protocoltest.Values("one"), &r)
	if r.Class != protocol.OK || r.Missing {
		t.Fatalf("%+v", r)
	}
	for i, want := range []string{"7", "2024-02-29", "\xff\x00"} {
		if got := string(r.Captured[i].B); got != want {
			t.Errorf("%s: %q, want %q", read.Fields[i], got, want)
		}
	}
	prepare(t, target, "elsewhere.records", true)
	c.Do(protocoltest.Within(t, 20*time.Second), &read, protocoltest.Values("one"), &r)
	if r.Class == protocol.OK && !r.Missing {
		t.Error("the table in the other keyspace wasn't dropped")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	good := node(t)
	prepare(t, good, "t", false)
	password, keyspace, option := good, good, good
	password.Password, keyspace.Database, option.Options = "falsches", "nowhere", map[string]string{"consistency": "most"}
	protocoltest.Refusals(t, New(), protocol.Target{},
		protocoltest.Refusal{Target: password, Class: protocol.Connect, Want: "check user and password"},
		protocoltest.Refusal{Target: keyspace, Class: protocol.Connect, Want: "check the keyspace"},
		protocoltest.Refusal{Target: option, Class: protocol.Client, Want: "quorum, any"})
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	info, err := New().Describe(t.Context(), node(t))
	if err != nil || info.Product != "Cassandra" || !strings.HasPrefix(info.Version, "5.") ||
		info.Settings["partitioner"] != "Murmur3Partitioner" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	t.Parallel()
	s := testserver.Cassandra(t)
	target := protocol.Target{Address: s.Addr, ConnectTimeout: 20 * time.Second}
	prepare(t, target, "t", false)
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	protocoltest.Dies(t, s, p, func() protocol.Conn { return dial(t, target, p) },
		protocol.Connect, protocol.UnknownOutcome)
}

// Statements in CQL, alone and in batches, with parameters of each type.
func TestStatements(t *testing.T) {
	t.Parallel()
	target := node(t)
	prepare(t, target, "records", false) // makes the keyspace
	sql := func(id int, text string, kinds ...gen.Kind) protocol.Request {
		return protocol.Request{ID: id, Verb: protocol.Command, Words: strings.SplitN(text, " ", 2), Params: kinds}
	}
	p := &protocol.Program{Requests: []protocol.Request{
		sql(0, "DROP TABLE IF EXISTS kinds"),
		sql(1, "CREATE TABLE kinds (k text, c int, b bigint, d double, f float, bo boolean, bl blob, u uuid, ts timestamp, "+
			"de decimal, i inet, da date, ti time, s smallint, v varint, PRIMARY KEY (k, c))"),
		sql(2, "INSERT INTO kinds (k, c, b, d, f, bo, bl, u, ts, de, i, da, ti, s, v) VALUES ($1, $2, $2, $3, $3, $4, $5, "+
			"$6, $2, $7, $8, $2, $2, $2, $2)", gen.String, gen.Int, gen.Float, gen.Bool, gen.Bytes,
			gen.UUID, gen.Decimal, gen.Bytes),
		{ID: 3, Verb: protocol.Batch, Text: "unlogged UPDATE kinds SET b = $3 WHERE k = $1 AND c = $2",
			Params: []gen.Kind{gen.String, gen.Int, gen.Int}},
		{ID: 4, Verb: protocol.Command, Words: []string{"SELECT", "b, d FROM kinds WHERE k = $1"},
			Params:  []gen.Kind{gen.String},
			Capture: []protocol.Capture{{Name: "b", Kind: gen.Int}, {Name: "d", Kind: gen.Float}}},
		sql(5, "SELECT nothing FROM kinds"),
	}}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	do := func(id int, args ...gen.Value) protocol.Reply {
		var r protocol.Reply
		c.Do(protocoltest.Within(t, 20*time.Second), &p.Requests[id], args, &r)
		return r
	}
	for id := range 2 {
		if r := do(id); r.Class != protocol.OK {
			t.Fatalf("%d: %+v", id, r)
		}
	}
	text := func(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }
	whole := func(i int64) gen.Value { return gen.Value{Kind: gen.Int, I: i} }
	if r := do(2, text("a"), whole(1), gen.Value{Kind: gen.Float, F: 1.5}, gen.Value{Kind: gen.Bool, I: 1},
		gen.Value{Kind: gen.Bytes, B: []byte{0, 255}}, gen.Value{Kind: gen.UUID, B: make([]byte, 16)},
		gen.Value{Kind: gen.Decimal, I: 125, Scale: 2}, gen.Value{Kind: gen.Bytes, B: []byte{10, 0, 0, 1}}); r.Class !=
		protocol.OK || r.Affected != 1 {
		t.Errorf("insert: %+v", r)
	}
	if r := do(4, text("a")); r.Rows != 1 || r.Captured[0].I != 1 || r.Captured[1].F != 1.5 {
		t.Errorf("select: %+v", r)
	}
	r := do(3, text("a"), whole(1), whole(7), text("a"), whole(2), whole(8))
	if r.Class != protocol.OK || r.Affected != 2 {
		t.Errorf("batch: %+v", r)
	}
	if r := do(4, text("a")); r.Rows != 2 || r.Captured[0].I != 7 {
		t.Errorf("select after the batch: %+v", r)
	}
	if r := do(3, text("b"), whole(1), whole(7)); r.Class != protocol.OK || r.Affected != 1 {
		t.Errorf("batch of one: %+v", r)
	}
	if r := do(4, text("nobody")); !r.Missing {
		t.Errorf("no row: %+v", r)
	}
	if r := do(3, text("a"), whole(1)); r.Class != protocol.Client {
		t.Errorf("part of a row: %+v", r)
	}
	if r := do(5); r.Class != protocol.Server || r.Code != "0x2200" {
		t.Errorf("unknown column: %+v", r)
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	target := node(t)
	prepare(t, target, "ways", false)
	p := &protocol.Program{Requests: []protocol.Request{{Name: "read", Verb: protocol.Read, Text: "ways",
		Fields: []string{"field0"}}}}
	for _, way := range protocoltest.Ways(t, target, protocoltest.Plain) {
		t.Run(way.Name, func(t *testing.T) { way.Takes(t, New(), p, protocoltest.Values("one")...) })
	}
}
