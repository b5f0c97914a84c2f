package mongodb

import (
	"os"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func ferret(t *testing.T) protocol.Target {
	s := servers.Get(t, "ferretdb", func(t testserver.TB) *testserver.Server { return testserver.FerretDB(t) })
	return protocol.Target{Address: s.Addr, Database: s.Database}
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
	a := protocoltest.Abilities{Scans: true, Batches: true, Tells: true}
	p := protocoltest.NewRecords("records", a)
	target := ferret(t)
	target.Options = map[string]string{"upsert": "true", "w": "1"}
	update := protocol.Request{ID: len(p.Program.Requests), Verb: protocol.Batch, Text: "update records",
		Fields: []string{"field1"}, Rows: 2}
	p.Program.Requests = append(p.Program.Requests, update)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	if r := p.Do(t, c, update.ID, "one", "x", "two", "y"); r.Class != protocol.OK || !r.Missing || r.Affected != 1 {
		t.Errorf("update one of two: %+v", r)
	}
	target.Options = nil
	c = dial(t, target, p)
	if r := p.Insert(t, c, "one"); r.Class != protocol.Server || r.Code != "11000" || r.Fatal {
		t.Errorf("insert again: %+v", r)
	}
	for i, drop := range []bool{false, true} {
		if err := New().Prepare(t.Context(), target, "records", nil, 0, drop); err != nil {
			t.Fatal(err)
		}
		if r := p.Read(t, c, "one"); r.Missing != drop {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	good := ferret(t)
	user, option := good, good
	user.User, user.Password, option.Options = "alice", "falsches", map[string]string{"x": "y"}
	protocoltest.Refusals(t, New(), protocol.Target{},
		protocoltest.Refusal{Target: user, Class: protocol.Connect, Want: "check user, password"},
		protocoltest.Refusal{Target: option, Class: protocol.Client, Want: "auth_source"})
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.FerretDB(t)
	target := protocol.Target{Address: s.Addr, Database: s.Database, ConnectTimeout: 5 * time.Second}
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	protocoltest.Dies(t, s, p, func() protocol.Conn { return dial(t, target, p) }, protocol.Connect)
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), ferret(t))
	if err != nil || info.Product != "FerretDB" || info.Version == "" || info.Settings["mongodb_version"] == "" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestWays(t *testing.T) {
	p := &protocol.Program{Requests: []protocol.Request{{Name: "read", Verb: protocol.Read, Text: "ways",
		Fields: []string{"field0"}}}}
	for _, way := range protocoltest.Ways(t, ferret(t), protocoltest.Plain) {
		t.Run(way.Name, func(t *testing.T) { way.Takes(t, New(), p, protocoltest.Values("one")...) })
	}
}
