package mongodb

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/testserver"
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
	a := protocoltest.Abilities{Scans: true, Batches: true}
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
	user := good
	user.User, user.Password = "alice", "falsches"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	for _, c := range []struct {
		target protocol.Target
		class  protocol.Class
		want   string
	}{
		{user, protocol.Connect, "check user, password"},
		{protocol.Target{Address: l.Addr().String(), ConnectTimeout: 300 * time.Millisecond}, protocol.Connect,
			"no answer in time"},
		{protocol.Target{Address: closed.Addr().String()}, protocol.Connect,
			"connection refused; is the server running there?"},
		{protocol.Target{Address: good.Address, Options: map[string]string{"x": "y"}}, protocol.Client, "auth_source"},
	} {
		_, err := New().Dial(t.Context(), c.target, &p.Program)
		if e := protocol.AsError(err); e == nil || e.Class != c.class || !strings.Contains(e.Text, c.want) ||
			strings.Contains(e.Text, "falsches") {
			t.Errorf("%q: got %+v", c.want, e)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.FerretDB(t)
	target := protocol.Target{Address: s.Addr, Database: s.Database, ConnectTimeout: 5 * time.Second}
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	c := dial(t, target, p)
	s.Pause()
	var reply protocol.Reply
	c.Do(protocoltest.Within(t, 200*time.Millisecond), &p.Program.Requests[0], protocoltest.Values("k", "a", "b"), &reply)
	s.Resume()
	if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
		t.Errorf("while paused: %+v", reply.Failure)
	}
	c = dial(t, target, p)
	s.Pause()
	done := make(chan protocol.Reply)
	go func() { done <- p.Insert(t, c, "k") }()
	time.Sleep(50 * time.Millisecond) // for the request to be under way
	s.Kill()
	if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
		t.Errorf("killed: %+v", r.Failure)
	}
	if r := p.Insert(t, c, "k"); r.Class != protocol.Connect || !r.Fatal {
		t.Errorf("while it is down: %+v", r.Failure)
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), ferret(t))
	if err != nil || info.Product != "FerretDB" || info.Version == "" || info.Settings["mongodb_version"] == "" {
		t.Errorf("got %+v, %v", info, err)
	}
}
