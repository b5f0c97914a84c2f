package http

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// TestRoaming: requests that say where they go are sent there, over connections of their own.
func TestRoaming(t *testing.T) {
	site := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/end" {
				w.Header().Set("Connection", "close")
			}
			_, _ = w.Write([]byte(name + r.URL.Path))
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := site("one"), site("two")
	program := protocol.Program{Requests: []protocol.Request{{Name: "x", Verb: protocol.HTTP,
		Params:  []gen.Kind{gen.String, gen.String},
		Web:     &protocol.Web{Method: "GET", Path: "/", Origin: "$1", Body: []byte("$2"), Raw: true},
		Capture: []protocol.Capture{{Name: "body", Kind: gen.String}}}}}
	d := New()
	target := protocol.Target{Address: "127.0.0.1:1", ConnectTimeout: 10 * time.Second}
	if _, ok := d.Takes(target, &program); ok {
		t.Error("event loops take it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := d.Dial(ctx, target, &program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	do := func(origin, path string) (string, protocol.Class) {
		args := make([]gen.Value, 2)
		args[0].SetString(origin)
		args[1].SetString("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		var reply protocol.Reply
		c.Do(ctx, &program.Requests[0], args, &reply)
		if reply.Fatal {
			t.Error("the session is lost")
		}
		if len(reply.Captured) == 0 {
			return "", reply.Class
		}
		return string(reply.Captured[0].B), reply.Class
	}
	for _, want := range []struct{ origin, path, body string }{
		{one.URL, "/a", "one/a"}, {two.URL, "/b", "two/b"}, {one.URL, "/end", "one/end"}, {one.URL, "/c", "one/c"},
	} {
		if body, class := do(want.origin, want.path); body != want.body || class != protocol.OK {
			t.Errorf("%s%s: %q, %v", want.origin, want.path, body, class)
		}
	}
	gone := strings.TrimSuffix(two.URL, "/")
	two.Close()
	if _, class := do(gone, "/"); class != protocol.Connect && class != protocol.UnknownOutcome {
		t.Errorf("a server that is gone: class %v", class)
	}
	if _, class := do("nowhere", "/"); class != protocol.Client {
		t.Errorf("a request to nowhere: class %v", class)
	}
}

// Requests that roam say which addresses are used instead of the host's, from where, and how long connecting may take.
func TestRoamingSaysHow(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.RemoteAddr, ":")
		_, _ = w.Write([]byte(host))
	}))
	t.Cleanup(s.Close)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	program := protocol.Program{Requests: []protocol.Request{{Name: "x", Verb: protocol.HTTP,
		Params:  []gen.Kind{gen.String, gen.String},
		Web:     &protocol.Web{Method: "GET", Path: "/", Origin: "$1", Body: []byte("$2"), Raw: true},
		Capture: []protocol.Capture{{Name: "body", Kind: gen.String}}}}}
	c, err := New().Dial(t.Context(), protocol.Target{Address: "127.0.0.1:1", ConnectTimeout: time.Minute}, &program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, row := range []struct {
		origin, body string
		class        protocol.Class
	}{
		{s.URL, "127.0.0.1", protocol.OK},
		{s.URL + " from 127.0.0.2", "127.0.0.2", protocol.OK},
		{"http://shop.invalid" + port + " at 127.0.0.1", "127.0.0.1", protocol.OK},
		{"http://shop.invalid" + port + " at 127.0.0.9,127.0.0.1 from 127.0.0.3 within 1m", "127.0.0.3", protocol.OK},
		{s.URL + " from 127.0.0.4 within 1ns", "", protocol.Connect},
		{s.URL + " from nowhere", "", protocol.Client},
		{s.URL + " within hours", "", protocol.Client},
		{s.URL + " over 127.0.0.1", "", protocol.Client},
	} {
		args := make([]gen.Value, 2)
		args[0].SetString(row.origin)
		args[1].SetString("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		var reply protocol.Reply
		c.Do(t.Context(), &program.Requests[0], args, &reply)
		body := ""
		if len(reply.Captured) > 0 {
			body = string(reply.Captured[0].B)
		}
		if reply.Class != row.class || body != row.body || reply.Fatal {
			t.Errorf("%s: %v %q, body %q", row.origin, reply.Class, reply.Text, body)
		}
	}
}

// Requests that are sent as they are arrive as written wherever they go, also beside others, and with a connection for
// each.
func TestWholeRequestsWithAnOrigin(t *testing.T) {
	site := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.Host + r.URL.Path + " " + r.Header.Get("Origin")))
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := site(), site()
	whole := func(origin, path string) protocol.Request {
		return protocol.Request{Verb: protocol.HTTP, Capture: []protocol.Capture{{Name: "body", Kind: gen.String}},
			Web: &protocol.Web{Method: "GET", Path: "/", Origin: origin, Raw: true,
				Body: []byte("GET " + path + " HTTP/1.1\r\nHost: own\r\nOrigin: http://a\r\n\r\n")}}
	}
	other := get("/other")
	other.Capture = whole("", "").Capture
	home := strings.TrimPrefix(one.URL, "http://")
	for name, requests := range map[string][]protocol.Request{
		"away": {whole(two.URL, "/a")}, "at home": {whole(one.URL, "/a")}, "here": {whole("", "/a")},
		"both": {whole(one.URL, "/a"), whole(two.URL, "/b")}, "beside another": {whole(two.URL, "/a"), other},
		"here, beside another": {whole("", "/a"), other},
	} {
		for _, options := range []map[string]string{nil, {"noreuse": "on"}} {
			t.Run(name+options["noreuse"], func(t *testing.T) {
				program := &protocol.Program{Requests: requests}
				for i := range program.Requests {
					program.Requests[i].ID = i
				}
				c, err := New().Dial(t.Context(), protocol.Target{Address: home, Options: options}, program)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for i := range program.Requests {
					want := []string{"own/a http://a", "own/b http://a"}[i]
					if !program.Requests[i].Web.Raw {
						want = home + "/other "
					}
					for range 2 {
						var reply protocol.Reply
						c.Do(t.Context(), &program.Requests[i], nil, &reply)
						if reply.Class != protocol.OK || reply.Fatal || string(reply.Captured[0].B) != want {
							t.Errorf("%d: %+v, %q; want %q", i, reply.Failure, reply.Captured[0].B, want)
						}
					}
				}
			})
		}
	}
	c, err := New().Dial(t.Context(), protocol.Target{Address: home}, &protocol.Program{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	added := whole("", "/a")
	if err := c.(protocol.AdHoc).Add(t.Context(), &added); err == nil || !strings.Contains(err.Error(), "as they are") {
		t.Errorf("added: %v", err)
	}
}
