package etcd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"

	clientv3 "go.etcd.io/etcd/client/v3"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// tiers opens a connection of each tier and calls f with it.
func tiers(t *testing.T, target protocol.Target, p *protocol.Program, f func(t *testing.T, c protocol.Conn)) {
	t.Run("library", func(t *testing.T) {
		c, err := New().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f(t, c)
	})
	if _, ok := New().Takes(target, p); !ok {
		return
	}
	for _, piece := range []int{1, 64 << 10} {
		t.Run(fmt.Sprintf("codec by %d", piece), func(t *testing.T) { f(t, protocoltest.Take(t, New(), target, p, piece)) })
	}
}

func TestRecords(t *testing.T) {
	target := protocol.Target{Address: servers.Etcd(t).Addr}
	for _, a := range []protocoltest.Abilities{{Scans: true, Replaces: true},
		{Scans: true, Batches: true, Replaces: true}} {
		p := protocoltest.NewRecords("records", a)
		for _, serializable := range []string{"false", "true"} {
			target.Options = map[string]string{"serializable_reads": serializable}
			tiers(t, target, &p.Program, func(t *testing.T, c protocol.Conn) { p.Check(t, c, a) })
		}
	}
}

func TestGoYCSBsForm(t *testing.T) {
	s := servers.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p := protocoltest.NewRecords("form", protocoltest.Abilities{})
	one := protocol.Request{ID: len(p.Program.Requests), Verb: protocol.Insert, Text: "form", Fields: []string{"field0"}}
	p.Program.Requests = append(p.Program.Requests, one)
	tiers(t, protocol.Target{Address: s.Addr}, &p.Program, func(t *testing.T, c protocol.Conn) {
		p.Insert(t, c, "user1")
		got, err := client.Get(t.Context(), "form:user1")
		if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != `{"field0":"emVybw==","field1":"b25l"}` {
			t.Errorf("stored %v, %v", got, err)
		}
		p.Do(t, c, one.ID, "user2", strings.Repeat("x", 200))
		if got, err = client.Get(t.Context(), "form:user2"); err != nil || len(got.Kvs[0].Value) != 281 {
			t.Errorf("200 bytes became %v, %v", got, err)
		}
		if _, err := client.Put(t.Context(), "form:user3", "{\"field\\u0030\": \"eA==\",\n\"field1\":\"eQ==\"}"); err != nil {
			t.Fatal(err)
		}
		if r := p.Read(t, c, "user3"); r.Class != protocol.OK || string(r.Captured[0].B)+string(r.Captured[1].B) != "xy" {
			t.Errorf("a value in another JSON form: %+v", r)
		}
		if _, err := client.Put(t.Context(), "form:user4", "no JSON"); err != nil {
			t.Fatal(err)
		}
		if r := p.Read(t, c, "user4"); r.Class != protocol.Protocol || r.Fatal {
			t.Errorf("a value that isn't JSON: %+v", r)
		}
	})
}

func TestPrepare(t *testing.T) {
	target := protocol.Target{Address: servers.Etcd(t).Addr}
	p := protocoltest.NewRecords("prepared", protocoltest.Abilities{})
	other := protocoltest.NewRecords("prepared2", protocoltest.Abilities{})
	c := protocoltest.Take(t, New(), target, &p.Program, 1000)
	c2 := protocoltest.Take(t, New(), target, &other.Program, 1000)
	for i, drop := range []bool{false, true} {
		p.Insert(t, c, "a")
		other.Insert(t, c2, "a")
		if err := New().Prepare(t.Context(), target, "prepared", []string{"field0"}, 10, drop); err != nil {
			t.Fatal(err)
		}
		if r := p.Read(t, c, "a"); r.Missing != drop {
			t.Errorf("%d: drop %v: %+v", i, drop, r)
		}
		if r := other.Read(t, c2, "a"); r.Missing {
			t.Error("another table's key is gone")
		}
	}
}

func TestLargeAnswersAndRequests(t *testing.T) {
	target := protocol.Target{Address: servers.Etcd(t).Addr}
	fields := []string{"field0"}
	p := &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.Insert, Text: "large", Fields: fields},
		{ID: 1, Verb: protocol.Scan, Text: "large", Capture: []protocol.Capture{{Name: "field0"}}},
	}}
	library, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	for _, c := range []protocol.Conn{library, protocoltest.Take(t, New(), target, p, 1000),
		protocoltest.Take(t, New(), target, p, 64<<10)} {
		value := strings.Repeat("0123456789", 3000) // 40 kB in base64: three frames
		for i := range 20 {
			var r protocol.Reply
			c.Do(protocoltest.Within(t, 10*time.Second), &p.Requests[0], protocoltest.Values(fmt.Sprint("k", i), value), &r)
			if r.Class != protocol.OK {
				t.Fatalf("insert %d: %+v", i, r)
			}
		}
		var r protocol.Reply
		c.Do(protocoltest.Within(t, 10*time.Second), &p.Requests[1], protocoltest.Values("k", 100), &r)
		if r.Class != protocol.OK || r.Rows != 20 || string(r.Captured[0].B) != value {
			t.Errorf("%d rows, %+v", r.Rows, r.Failure)
		}
	}
	c := protocoltest.Take(t, New(), target, p, 1000)
	var r protocol.Reply
	c.Do(t.Context(), &p.Requests[0], protocoltest.Values("k", strings.Repeat("x", 16<<20)), &r)
	if r.Class != protocol.Client || !strings.Contains(r.Text, "codec=off") {
		t.Errorf("beyond the window: %+v", r.Failure)
	}
}

func TestTLS(t *testing.T) {
	s := testserver.Etcd(t, testserver.TLS())
	a := protocoltest.Abilities{Scans: true, Replaces: true}
	p := protocoltest.NewRecords("tls", a)
	target := protocol.Target{Address: s.Addr, TLS: s.TLS}
	if why, ok := New().Takes(target, &p.Program); ok || !strings.Contains(why, "TLS") {
		t.Errorf("the codec takes TLS: %q", why)
	}
	tiers(t, target, &p.Program, func(t *testing.T, c protocol.Conn) { p.Check(t, c, a) })
	_, err := New().Open(t.Context(), protocol.Target{Address: s.Addr}, &p.Program)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect {
		t.Errorf("without TLS: %v", err)
	}
}

func TestUsers(t *testing.T) {
	s := testserver.Etcd(t)
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx := protocoltest.Within(t, 20*time.Second)
	for _, step := range []func() error{
		func() error { _, err := root.UserAdd(ctx, "root", "geheim"); return err },
		func() error { _, err := root.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := root.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	a := protocoltest.Abilities{Scans: true, Replaces: true}
	p := protocoltest.NewRecords("users", a)
	target := protocol.Target{Address: s.Addr, User: "root", Password: "geheim"}
	if why, ok := New().Takes(target, &p.Program); ok || !strings.Contains(why, "users") {
		t.Errorf("the codec takes users: %q", why)
	}
	tiers(t, target, &p.Program, func(t *testing.T, c protocol.Conn) { p.Check(t, c, a) })
	for _, wrong := range [][2]string{{"root", "falsches"}, {"nobody", "geheim"}, {"", ""}} {
		_, err := New().Dial(t.Context(), protocol.Target{Address: s.Addr, User: wrong[0], Password: wrong[1]}, &p.Program)
		e := protocol.AsError(err)
		if e == nil || e.Class != protocol.Connect || strings.Contains(e.Text, "geheim") ||
			strings.Contains(e.Text, "falsches") {
			t.Errorf("%q: got %+v", wrong[0], e)
		} else if wrong[0] != "" && !strings.Contains(e.Text, "check user and password") {
			t.Errorf("%q: got %s", wrong[0], e.Text)
		}
	}
}

func TestRefusedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	target := protocol.Target{Address: l.Addr().String(), ConnectTimeout: 200 * time.Millisecond}
	check := func(want string) {
		t.Helper()
		_, dial := New().Dial(t.Context(), target, &p.Program)
		_, take := New().Open(t.Context(), target, &p.Program)
		for tier, err := range map[string]error{"library": dial, "codec": take} {
			if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect || !strings.Contains(e.Text, want) {
				t.Errorf("%s: got %v", tier, err)
			}
		}
	}
	check("no answer in time")
	l.Close()
	check("connection refused; is the server running there?")
}

func TestNotEtcd(t *testing.T) {
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	_, err := New().Open(t.Context(), protocol.Target{Address: servers.Nginx(t).Addr}, &p.Program)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect {
		t.Errorf("got %v", err)
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.Etcd(t)
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	target := protocol.Target{Address: s.Addr}
	tiers(t, target, &p.Program, func(t *testing.T, c protocol.Conn) {
		s.Pause()
		var reply protocol.Reply
		c.Do(protocoltest.Within(t, 200*time.Millisecond), &p.Program.Requests[0], protocoltest.Values("k", "a", "b"), &reply)
		s.Resume()
		if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("while paused: %+v", reply)
		}
	})
	tiers(t, target, &p.Program, func(t *testing.T, c protocol.Conn) {
		s.Pause()
		done := make(chan protocol.Reply)
		go func() { done <- p.Insert(t, c, "k") }()
		s.Kill()
		if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
			t.Errorf("killed: %+v", r)
		}
		if r := p.Insert(t, c, "k"); r.Class != protocol.Connect && r.Class != protocol.UnknownOutcome || !r.Fatal {
			t.Errorf("while it is down: %+v", r)
		}
		s.Restart()
	})
}

func TestServerErrors(t *testing.T) {
	s := testserver.Etcd(t, testserver.Settings("--max-request-bytes=20000"))
	p := protocoltest.NewRecords("t", protocoltest.Abilities{})
	tiers(t, protocol.Target{Address: s.Addr}, &p.Program, func(t *testing.T, c protocol.Conn) {
		r := p.Do(t, c, 0, "k", strings.Repeat("x", 30000), "b")
		if r.Class != protocol.Server || r.Code != "InvalidArgument" || r.Fatal || !strings.Contains(r.Text, "too large") {
			t.Errorf("got %+v", r.Failure)
		}
		if r := p.Insert(t, c, "k"); r.Class != protocol.OK {
			t.Errorf("after an error: %+v", r.Failure)
		}
	})
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(context.Background(), protocol.Target{Address: servers.Etcd(t).Addr})
	if err != nil || info.Product != "etcd" || !strings.HasPrefix(info.Version, "3.") ||
		info.Settings["role"] != "leader" {
		t.Errorf("got %+v, %v", info, err)
	}
}
