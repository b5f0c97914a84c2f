package http

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/protocol"
)

// TestOrigins sends the requests of one session to three servers, one of which closes each connection.
func TestOrigins(t *testing.T) {
	var counts [3]atomic.Int32
	var urls []string
	for i := range counts {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			counts[i].Add(1)
			if "http://"+r.Host != urls[i] {
				w.WriteHeader(http.StatusMisdirectedRequest)
			}
			if i == 2 {
				w.Header().Set("Connection", "close")
			}
		}))
		defer s.Close()
		urls = append(urls, s.URL)
	}
	program := &protocol.Program{}
	for i, u := range append([]string{""}, urls[1:]...) {
		program.Requests = append(program.Requests,
			protocol.Request{ID: i, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/", Origin: u}})
	}
	target := protocol.Target{Address: strings.TrimPrefix(urls[0], "http://")}
	if why, ok := New().Takes(target, program); ok || !strings.Contains(why, "several hosts") {
		t.Errorf("codec: %q, %v", why, ok)
	}
	c, err := New().Dial(t.Context(), target, program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply protocol.Reply
	for n := range 12 {
		c.Do(t.Context(), &program.Requests[n%3], nil, &reply)
		if reply.Class != protocol.OK || reply.Status != 200 || reply.Fatal {
			t.Fatalf("request %d: %+v", n, reply)
		}
	}
	for i := range counts {
		if counts[i].Load() != 4 {
			t.Errorf("place %d got %d requests", i, counts[i].Load())
		}
	}
}

func TestLostOriginsDontEndTheSession(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	program := &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/"}},
		{ID: 1, Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/", Origin: "http://127.0.0.1:1"}},
	}}
	c, err := New().Dial(t.Context(), protocol.Target{Address: strings.TrimPrefix(s.URL, "http://")}, program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply protocol.Reply
	c.Do(t.Context(), &program.Requests[1], nil, &reply)
	if reply.Class != protocol.Connect || reply.Fatal {
		t.Errorf("%+v", reply.Failure)
	}
	c.Do(t.Context(), &program.Requests[0], nil, &reply)
	if reply.Class != protocol.OK {
		t.Errorf("%+v", reply.Failure)
	}
}

func TestParseOrigin(t *testing.T) {
	home := origin{"http", "h:80"}
	for text, want := range map[string]origin{
		"": home, "http://a": {"http", "a:80"}, "https://a": {"https", "a:443"}, "http://[::1]:81": {"http", "[::1]:81"},
	} {
		if got, err := parseOrigin(text, home); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"a:80", "ftp://a", "http://", "http://a/b", "http://u@a", "http://a?b"} {
		if got, err := parseOrigin(bad, home); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
