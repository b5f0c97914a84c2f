package http

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

// serveAt starts a server at an address. "127.0.0.1:0" means any port.
func serveAt(t *testing.T, address string) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A session whose requests all name their origins continues if it loses one of them.
func TestSessionsWithoutAnAddressOfTheirOwn(t *testing.T) {
	one, two := serveAt(t, "127.0.0.1:0"), serveAt(t, "127.0.0.1:0")
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	program := &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/", Origin: one.URL}},
		{ID: 1, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/", Origin: two.URL}},
	}}
	d := New()
	targets := []protocol.Target{{Address: address(one)}, {Address: address(two)}}
	router := d.Router(protocol.NewNodes(targets, 0), program)
	for i := range program.Requests {
		if at, ok := router.Route(&program.Requests[i], nil); at != i || !ok {
			t.Errorf("request %d belongs to %d, %v", i, at, ok)
		}
	}
	c, err := d.Dial(t.Context(), targets[0], program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	expect := func(request int, class protocol.Class, reopened bool) {
		t.Helper()
		var reply protocol.Reply
		c.Do(t.Context(), &program.Requests[request], nil, &reply)
		if reply.Class != class || reply.Fatal || reply.Reopened != reopened {
			t.Errorf("request %d: %+v, want class %s, reopened %v", request, reply, class, reopened)
		}
	}
	expect(0, protocol.OK, false)
	expect(1, protocol.OK, false)
	home := address(one)
	one.Close()
	// The loss is noticed when the connection is used, or before.
	var reply protocol.Reply
	c.Do(t.Context(), &program.Requests[0], nil, &reply)
	if reply.Class == protocol.OK || reply.Fatal {
		t.Errorf("of a closed server: %+v", reply)
	}
	expect(0, protocol.Connect, false)
	expect(1, protocol.OK, false)
	serveAt(t, home)
	expect(0, protocol.OK, true)
	expect(0, protocol.OK, false)
	expect(1, protocol.OK, false)
}

func TestPlaceOfOtherRequests(t *testing.T) {
	targets := []protocol.Target{{Address: "a:80"}, {Address: "b:443"}}
	for origin, want := range map[string]int{"": -1, "http://a": 0, "https://b": 1, "http://c": -1, "nonsense": -1} {
		if at := place(&protocol.Request{Web: &protocol.Web{Origin: origin}}, targets); at != want {
			t.Errorf("%q: %d, want %d", origin, at, want)
		}
	}
	if place(&protocol.Request{}, targets) >= 0 {
		t.Error("a request that isn't of HTTP has a place")
	}
	bare := &protocol.Program{Requests: []protocol.Request{{Web: &protocol.Web{}}}}
	if r := New().Router(protocol.NewNodes(targets, 0), bare); r != nil {
		t.Errorf("requests that name no address have the router %v", r)
	}
}

func TestLazySessions(t *testing.T) {
	s := serveAt(t, "127.0.0.1:0")
	address := strings.TrimPrefix(s.URL, "http://")
	s.Close()
	program := &protocol.Program{Requests: []protocol.Request{{Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "GET", Path: "/"}}}}
	if _, err := New().Dial(t.Context(), protocol.Target{Address: address}, program); err == nil {
		t.Error("connected to nobody")
	}
	target := protocol.Target{Address: address, Options: map[string]string{"lazy": "on"}}
	if why, ok := New().Takes(target, program); ok || !strings.Contains(why, "library tier") {
		t.Errorf("codec: %q, %v", why, ok)
	}
	c, err := New().Dial(t.Context(), target, program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply protocol.Reply
	for range 2 {
		if c.Do(t.Context(), &program.Requests[0], nil, &reply); reply.Class != protocol.Connect || reply.Fatal {
			t.Errorf("%+v", reply)
		}
	}
	serveAt(t, address)
	if c.Do(t.Context(), &program.Requests[0], nil, &reply); reply.Class != protocol.OK || reply.Reopened {
		t.Errorf("%+v", reply)
	}
}

// A driver for https uses plain HTTP for addresses with that scheme.
func TestPlainAddresses(t *testing.T) {
	s := serveAt(t, "127.0.0.1:0")
	address := strings.TrimPrefix(s.URL, "http://")
	target := protocol.Target{Address: address, Options: map[string]string{"plain": "other:1," + address}}
	if _, err := NewSecure().Describe(t.Context(), target); err != nil {
		t.Error(err)
	}
	target.Options["plain"] = "other:1"
	if _, err := NewSecure().Describe(t.Context(), target); err == nil ||
		!strings.Contains(err.Error(), "doesn't speak TLS") {
		t.Error(err)
	}
}
