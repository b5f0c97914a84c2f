package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

func addressesOf(nodes []protocol.Node) (all string) {
	for _, n := range nodes {
		all += fmt.Sprintf("%s %s;", n.Address, n.Role)
	}
	return all
}

type plain struct{ protocol.Driver }

func (plain) Name() string { return "plain" }

func TestNodesOfNames(t *testing.T) {
	n := testserver.ServeNames(t)
	n.Set("db.test", "127.0.0.2", "127.0.0.1")
	n.Set("node.test", "127.0.0.9")
	n.SetService("_db._tcp.test", 5433, 5432)
	for _, c := range []struct {
		name, source, service string
		from                  []string
		want, say             string
	}{
		{"A", "dns", "", []string{"db.test:7"}, "127.0.0.1:7 any;127.0.0.2:7 any;", ""},
		{"A without a port", "dns", "", []string{"db.test"}, "127.0.0.1:5432 any;127.0.0.2:5432 any;", ""},
		{"SRV", "srv", "_db._tcp.test", nil, "127.0.0.9:5432 any;127.0.0.9:5433 any;", ""},
		{"no such name", "dns", "", []string{"no.test:7"}, "", "look up no.test"},
		{"no such service", "srv", "_no._tcp.test", nil, "", "look up the service _no._tcp.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Options{Source: c.source, Name: c.service, From: c.from, Port: "5432", Driver: plain{},
				Resolver: n.Addr()})
			if err != nil {
				t.Fatal(err)
			}
			nodes, all, err := s.Discover(t.Context())
			if c.say != "" {
				if err == nil || !strings.Contains(err.Error(), c.say) {
					t.Errorf("%v, want %q", err, c.say)
				}
				return
			}
			if err != nil || !all || addressesOf(nodes) != c.want {
				t.Errorf("%s %v %v, want %s", addressesOf(nodes), all, err, c.want)
			}
		})
	}
}

// Nodes are those to which a name resolves. If it resolves to nothing, the last known nodes are kept, and this is
// reported once.
func TestWatchFollowsANameAndKeepsWhatItKnew(t *testing.T) {
	n := testserver.ServeNames(t)
	n.Set("db.test", "127.0.0.1")
	s, err := New(Options{Source: "dns", From: []string{"db.test:7"}, Driver: plain{},
		Resolver: n.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	nodes := protocol.NewNodes([]protocol.Target{{Address: "127.0.0.1:7"}}, 4)
	changes, told, soon := make(chan protocol.Change, 10), make(chan error, 100), make(chan struct{})
	nodes.OnChange(func(all []protocol.Change) {
		for _, c := range all {
			changes <- c
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Watch(ctx, s, nodes, protocol.Target{User: "u"}, time.Hour, soon, func(err error) { told <- err })
	}()
	n.Set("db.test", "127.0.0.1", "127.0.0.3")
	soon <- struct{}{}
	if c := <-changes; c.What != protocol.Joined || c.Address != "127.0.0.3:7" || c.Number != 1 ||
		nodes.At(1).User != "u" {
		t.Errorf("%+v, want that 127.0.0.3:7 joined", c)
	}
	n.Set("db.test")
	soon <- struct{}{}
	soon <- struct{}{} // the previous query has been answered
	n.Set("db.test", "127.0.0.3")
	soon <- struct{}{}
	if c := <-changes; c.What != protocol.Left || c.Address != "127.0.0.1:7" {
		t.Errorf("%+v, want that 127.0.0.1:7 left", c)
	}
	cancel()
	<-ended
	if len(told) != 1 {
		t.Errorf("%d times told of a name without an address, want once", len(told))
	}
	if nodes.Active(0) || !nodes.Active(1) {
		t.Errorf("members are %v, %v", nodes.Active(0), nodes.Active(1))
	}
}

const patroniCluster = `{"members": [
	{"name": "a", "role": "leader", "state": "running", "host": "10.0.0.1", "port": 5432, "timeline": 2},
	{"name": "b", "role": "sync_standby", "state": "streaming", "host": "10.0.0.2", "port": 5433, "lag": 0},
	{"name": "c", "role": "replica", "state": "start failed", "host": "10.0.0.3", "port": 5432, "lag": "unknown"},
	{"name": "d", "role": "replica", "state": "running", "host": "::1", "lag": 12}], "scope": "x"}`

func TestNodesOfPatroni(t *testing.T) {
	answer, status := patroniCluster, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cluster" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		w.Write([]byte(answer))
	}))
	defer server.Close()
	s, err := New(Options{Source: "patroni", From: []string{"127.0.0.1:1", server.URL}, Port: "5432", Driver: plain{}})
	if err != nil {
		t.Fatal(err)
	}
	nodes, all, err := s.Discover(t.Context())
	if want := "10.0.0.1:5432 primary;10.0.0.2:5433 replica;[::1]:5432 replica;"; err != nil || !all ||
		addressesOf(nodes) != want {
		t.Errorf("%s %v %v, want %s", addressesOf(nodes), all, err, want)
	}
	answer = "no JSON"
	if _, _, err := s.Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "isn't Patroni's") {
		t.Errorf("of no JSON: %v", err)
	}
	answer = `{"members": []}`
	if err := Look(t.Context(), s, protocol.NewNodes(nil, 1), protocol.Target{}); !errors.Is(err, ErrNone) {
		t.Errorf("of nobody: %v", err)
	}
	status = http.StatusServiceUnavailable
	if _, _, err := s.Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("of 503: %v", err)
	}
}

func FuzzPatroni(f *testing.F) {
	f.Add([]byte(patroniCluster))
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, err := parsePatroni(text, "5432")
		for _, n := range nodes {
			if _, port, bad := net.SplitHostPort(n.Address); bad != nil || port == "" || err != nil {
				t.Errorf("%q, %v", n.Address, err)
			}
		}
	})
}

func TestSourcesThatAProtocolLacks(t *testing.T) {
	for _, c := range []struct{ source, say string }{
		{"roles", "can't be asked for their roles"}, {"sentinel", "isn't known to protocol"},
		{"members", "isn't known to protocol"},
	} {
		_, err := New(Options{Source: c.source, Driver: plain{}})
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.source, err, c.say)
		}
	}
}
