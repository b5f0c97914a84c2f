package mongodb

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/drivertest"
	"brunt/internal/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

func ferret(t *testing.T) driver.Target {
	s := servers.Get(t, "ferretdb", func(t testserver.TB) *testserver.Server { return testserver.FerretDB(t) })
	return driver.Target{Address: s.Addr, Database: s.Database}
}

func dial(t *testing.T, target driver.Target, p *drivertest.Records) driver.Conn {
	t.Helper()
	c, err := New().Dial(t.Context(), target, &p.Program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRecords(t *testing.T) {
	a := drivertest.Abilities{Scans: true, Batches: true}
	p := drivertest.NewRecords("records", a)
	target := ferret(t)
	target.Options = map[string]string{"upsert": "true", "w": "1"}
	update := driver.Request{ID: len(p.Program.Requests), Verb: driver.Batch, Text: "update records", Fields: []string{"field1"}, Rows: 2}
	p.Program.Requests = append(p.Program.Requests, update)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	if r := p.Do(t, c, update.ID, "one", "x", "two", "y"); r.Class != driver.OK || !r.Missing || r.Affected != 1 {
		t.Errorf("update one of two: %+v", r)
	}
	target.Options = nil
	c = dial(t, target, p)
	if r := p.Insert(t, c, "one"); r.Class != driver.Server || r.Code != "11000" || r.Fatal {
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
	p := drivertest.NewRecords("t", drivertest.Abilities{})
	for _, c := range []struct {
		target driver.Target
		class  driver.Class
		want   string
	}{
		{user, driver.Connect, "check user, password"},
		{driver.Target{Address: l.Addr().String(), ConnectTimeout: 300 * time.Millisecond}, driver.Connect, "no answer in time"},
		{driver.Target{Address: closed.Addr().String()}, driver.Connect, "connection refused; is the server running there?"},
		{driver.Target{Address: good.Address, Options: map[string]string{"x": "y"}}, driver.Client, "auth_source"},
	} {
		_, err := New().Dial(t.Context(), c.target, &p.Program)
		if e := driver.AsError(err); e == nil || e.Class != c.class || !strings.Contains(e.Text, c.want) || strings.Contains(e.Text, "falsches") {
			t.Errorf("%q: got %+v", c.want, e)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.FerretDB(t)
	target := driver.Target{Address: s.Addr, Database: s.Database, ConnectTimeout: 5 * time.Second}
	p := drivertest.NewRecords("t", drivertest.Abilities{})
	c := dial(t, target, p)
	s.Pause()
	var reply driver.Reply
	c.Do(drivertest.Within(t, 200*time.Millisecond), &p.Program.Requests[0], drivertest.Values("k", "a", "b"), &reply)
	s.Resume()
	if reply.Class != driver.UnknownOutcome || !reply.Fatal {
		t.Errorf("while paused: %+v", reply.Failure)
	}
	c = dial(t, target, p)
	s.Pause()
	done := make(chan driver.Reply)
	go func() { done <- p.Insert(t, c, "k") }()
	time.Sleep(50 * time.Millisecond) // for the request to be under way
	s.Kill()
	if r := <-done; r.Class != driver.UnknownOutcome || !r.Fatal {
		t.Errorf("killed: %+v", r.Failure)
	}
	if r := p.Insert(t, c, "k"); r.Class != driver.Connect || !r.Fatal {
		t.Errorf("while it is down: %+v", r.Failure)
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), ferret(t))
	if err != nil || info.Product != "FerretDB" || info.Version == "" || info.Settings["mongodb_version"] == "" {
		t.Errorf("got %+v, %v", info, err)
	}
}
