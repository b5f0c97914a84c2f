package dynamodb

import (
	"fmt"
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

func local(t *testing.T) driver.Target {
	s := servers.Get(t, "dynamodb", func(t testserver.TB) *testserver.Server { return testserver.DynamoDB(t) })
	return driver.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
}

func prepare(t *testing.T, target driver.Target, table string, drop bool) {
	t.Helper()
	if err := New().Prepare(drivertest.Within(t, time.Minute), target, table, nil, 0, drop); err != nil {
		t.Fatal(err)
	}
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
	a := drivertest.Abilities{Scans: true, Unsorted: true, Batches: true}
	p := drivertest.NewRecords("records", a)
	target := local(t)
	target.Options = map[string]string{"consistent_reads": "true", "key": "id"}
	prepare(t, target, "records", false)
	c := dial(t, target, p)
	p.Check(t, c, a)
	p.Insert(t, c, "one")
	for _, drop := range []bool{false, true} {
		prepare(t, target, "records", drop)
		if r := p.Read(t, c, "one"); r.Class != driver.OK || r.Missing != drop {
			t.Errorf("drop %v: %+v", drop, r)
		}
	}
	other := drivertest.NewRecords("nowhere", drivertest.Abilities{})
	if r := other.Read(t, dial(t, target, other), "one"); r.Class != driver.Server || r.Code != "ResourceNotFoundException" || r.Fatal {
		t.Errorf("no such table: %+v", r.Failure)
	}
}

func TestLongScansAndLargeBatches(t *testing.T) {
	target := local(t)
	prepare(t, target, "long", false)
	p := &driver.Program{Requests: []driver.Request{
		{ID: 0, Verb: driver.Batch, Text: "insert long", Fields: []string{"f"}, Rows: 25},
		{ID: 1, Verb: driver.Scan, Text: "long", Fields: []string{"f"}},
	}}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		var args []any
		for k := range 25 {
			args = append(args, fmt.Sprint("user", i, k), strings.Repeat("x", 50_000))
		}
		var r driver.Reply
		if c.Do(drivertest.Within(t, time.Minute), &p.Requests[0], drivertest.Values(args...), &r); r.Class != driver.OK || r.Affected != 25 {
			t.Fatalf("%+v", r)
		}
	}
	var r driver.Reply
	c.Do(drivertest.Within(t, time.Minute), &p.Requests[1], drivertest.Values("nobody", 45), &r)
	if r.Class != driver.OK || r.Rows > 45 || r.Rows < 1 {
		t.Errorf("%+v", r)
	}
	for _, request := range []driver.Request{
		{Verb: driver.Batch, Text: "insert long", Fields: []string{"f"}, Rows: 26}, {Verb: driver.Batch, Text: "read long", Rows: 101},
		{Verb: driver.Batch, Text: "update long", Fields: []string{"f"}, Rows: 2},
	} {
		_, err := New().Dial(t.Context(), target, &driver.Program{Requests: []driver.Request{request}})
		if e := driver.AsError(err); e == nil || e.Class != driver.Client {
			t.Errorf("%s of %d: %v", request.Text, request.Rows, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := local(t)
	key, nobody := good, good
	key.User = "not a key!"
	nobody.User = ""
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
		{key, driver.Connect, "check access key"},
		{nobody, driver.Client, "no credentials"},
		{driver.Target{Address: l.Addr().String(), User: "a", Password: "falsches", ConnectTimeout: 300 * time.Millisecond}, driver.Connect, "no answer in time"},
		{driver.Target{Address: closed.Addr().String(), User: "a", Password: "falsches"}, driver.Connect, "connection refused; is the server running there?"},
	} {
		_, err := New().Dial(t.Context(), c.target, &p.Program)
		if e := driver.AsError(err); e == nil || e.Class != c.class || !strings.Contains(e.Text, c.want) || strings.Contains(e.Text, "falsches") || strings.Contains(e.Text, good.Password) {
			t.Errorf("%q: got %+v", c.want, e)
		}
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), local(t))
	if err != nil || info.Product != "DynamoDB" || info.Settings["region"] != "us-east-1" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.DynamoDB(t)
	target := driver.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second}
	prepare(t, target, "table", false)
	p := drivertest.NewRecords("table", drivertest.Abilities{})
	c := dial(t, target, p)
	p.Insert(t, c, "k")
	s.Pause()
	var reply driver.Reply
	c.Do(drivertest.Within(t, 200*time.Millisecond), &p.Program.Requests[0], drivertest.Values("k", "a", "b"), &reply)
	s.Resume()
	if reply.Class != driver.UnknownOutcome || !reply.Fatal {
		t.Errorf("while paused: %+v", reply.Failure)
	}
	c = dial(t, target, p)
	p.Insert(t, c, "k")
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
