package http

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

const locations = `
location = /moved { return 302 /elsewhere; }
location = /no { return 404 "no"; }
location = /broken { return 503 "broken"; }
location = /last { keepalive_timeout 0; return 200 "last"; }
location = /page.shtml { ssi on; ssi_types *; return 200 "<!--# echo var='arg_q' -->."; }
location = /json { default_type application/json; return 200 '{"a":{"b":[1,"two",true]},"n":12}'; }
location = /who { return 200 "$http_host $http_authorization $http_x_id $arg_q"; }
location = /packed { gzip on; gzip_min_length 1; gzip_types *; default_type text/plain; return 200 "packed packed packed packed"; }
`

func nginx(t *testing.T) *testserver.Server {
	return servers.Get(t, "nginx", func(t testserver.TB) *testserver.Server {
		return testserver.Nginx(t, testserver.Workers(2), testserver.Locations(locations))
	})
}

// tiers opens a connection of each tier for a program and calls f with both.
func tiers(t *testing.T, target protocol.Target, p *protocol.Program, f func(t *testing.T, c protocol.Conn)) {
	for i := range p.Requests {
		p.Requests[i].ID = i
	}
	t.Run("library", func(t *testing.T) {
		c := library(t, target, p)
		defer c.Close()
		f(t, c)
	})
	if _, ok := New().Takes(target, p); !ok {
		return
	}
	for _, piece := range []int{1, 7, 64 << 10} {
		t.Run(fmt.Sprintf("codec %d", piece), func(t *testing.T) { f(t, protocoltest.Take(t, New(), target, p, piece)) })
	}
}

// library opens a connection of net/http, which is the oracle, also for targets that the codec supports.
func library(t *testing.T, target protocol.Target, p *protocol.Program) protocol.Conn {
	t.Helper()
	d := New()
	plan, refused := d.ready(target, p)
	if refused != nil {
		t.Fatal(refused)
	}
	c := newConn(d, target, plan)
	if refused := c.open(t.Context()); refused != nil {
		t.Fatal(refused)
	}
	return c
}

func do(t *testing.T, c protocol.Conn, req *protocol.Request, args ...gen.Value) protocol.Reply {
	t.Helper()
	var reply protocol.Reply
	c.Do(protocoltest.Within(t, 10*time.Second), req, args, &reply)
	return reply
}

func TestNginxInBothTiers(t *testing.T) {
	page := strings.Repeat("brunt test page\n", 39)[:testserver.NginxIndexSize]
	sum := fnv.New64a()
	io.WriteString(sum, page)
	index, head, moved, chunked := get("/"), get("/"), get("/moved"), get("/page.shtml?q=$1")
	index.Web.Hash, index.Web.HashEvery = sum.Sum64(), 1
	head.Web = &protocol.Web{Method: "HEAD", Path: "/"}
	moved.Capture = []protocol.Capture{{Name: "header:location"}}
	chunked.Params = []gen.Kind{gen.String}
	p := &protocol.Program{Requests: []protocol.Request{index, head, moved, get("/no"), get("/broken"), chunked}}
	tiers(t, protocol.Target{Address: nginx(t).Addr}, p, func(t *testing.T, c protocol.Conn) {
		for range 3 {
			if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.Status != 200 || r.BadHash ||
				r.BytesIn < int64(len(page)) {
				t.Fatalf("index: %+v", r)
			}
			if r := do(t, c, &p.Requests[1]); r.Class != protocol.OK || r.Status != 200 {
				t.Fatalf("head: %+v", r)
			}
			if r := do(t, c, &p.Requests[2]); r.Class != protocol.OK || r.Status != 302 ||
				!strings.HasSuffix(string(r.Captured[0].B), "/elsewhere") {
				t.Fatalf("moved: %+v", r)
			}
			if r := do(t, c, &p.Requests[3]); r.Class != protocol.Server || r.Code != "404" || r.Fatal {
				t.Fatalf("no: %+v", r)
			}
			if r := do(t, c, &p.Requests[4]); r.Class != protocol.Server || r.Code != "503" || r.Fatal {
				t.Fatalf("broken: %+v", r)
			}
			if r := do(t, c, &p.Requests[5], value("a b")); r.Class != protocol.OK || r.Status != 200 || r.Fatal {
				t.Fatalf("chunked: %+v", r)
			}
		}
	})
}

func TestServerClosesInBothTiers(t *testing.T) {
	p := &protocol.Program{Requests: []protocol.Request{get("/last")}}
	tiers(t, protocol.Target{Address: nginx(t).Addr}, p, func(t *testing.T, c protocol.Conn) {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.Status != 200 || !r.Fatal {
			t.Errorf("got %+v; want a good answer that ends the session", r)
		}
	})
}

func TestWhatTheServerSees(t *testing.T) {
	who := get("/who?q=$1")
	who.Web.Header = [][2]string{{"Host", "virtual.example"}, {"X-Id", "<$2>"}}
	who.Params = []gen.Kind{gen.String, gen.Int}
	who.Capture = []protocol.Capture{{Name: "body"}}
	p := &protocol.Program{Requests: []protocol.Request{who}}
	target := protocol.Target{Address: nginx(t).Addr, User: "u", Password: "p"}
	tiers(t, target, p, func(t *testing.T, c protocol.Conn) {
		r := do(t, c, &p.Requests[0], value("a/&b"), gen.Value{Kind: gen.Int, I: 5})
		if got, want := string(r.Captured[0].B), "virtual.example Basic dTpw <5> a%2F%26b"; got != want {
			t.Errorf("got %q, want %q (%+v)", got, want, r.Failure)
		}
	})
}

func TestCapturesFromJSON(t *testing.T) {
	req := get("/json")
	for _, name := range []string{"json:a.b.0", "json:a.b.1", "json:a.b.2", "json:n", "json:a.x", "json:a.b.9", "json:a"} {
		req.Capture = append(req.Capture, protocol.Capture{Name: name})
	}
	req.Capture[3].Kind = gen.Int
	p := &protocol.Program{Requests: []protocol.Request{req}}
	tiers(t, protocol.Target{Address: nginx(t).Addr}, p, func(t *testing.T, c protocol.Conn) {
		r := do(t, c, &p.Requests[0])
		want := []string{`6:"1"`, `6:"two"`, "1:1", "2:12", "null", "null", `6:"{\"b\":[1,\"two\",true]}"`}
		for i := range want {
			if got := protocoltest.Text(&r.Captured[i]); got != want[i] {
				t.Errorf("%s: got %s, want %s", req.Capture[i].Name, got, want[i])
			}
		}
	})
}

func TestCompressedBodyIsHashedUnpacked(t *testing.T) {
	sum := fnv.New64a()
	io.WriteString(sum, "packed packed packed packed")
	req := get("/packed")
	req.Web.Hash, req.Web.HashEvery = sum.Sum64(), 1
	p := &protocol.Program{Requests: []protocol.Request{req}}
	for _, compress := range []string{"on", "off"} {
		target := protocol.Target{Address: nginx(t).Addr, Options: map[string]string{"compress": compress}}
		tiers(t, target, p, func(t *testing.T, c protocol.Conn) {
			if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.BadHash {
				t.Errorf("compress %s: got %+v", compress, r)
			}
		})
	}
}

func TestTLSAndHTTP2(t *testing.T) {
	s := testserver.Nginx(t, testserver.TLS(), testserver.Locations(`location = /v { return 200 "$server_protocol"; }`))
	req := get("/v")
	req.Capture = []protocol.Capture{{Name: "body"}}
	p := &protocol.Program{Requests: []protocol.Request{req}}
	for _, c := range []struct{ http2, want string }{{"on", "HTTP/2.0"}, {"off", "HTTP/1.1"}} {
		target := protocol.Target{Address: s.Addr, TLS: s.TLS, Options: map[string]string{"http2": c.http2}}
		session, err := NewSecure().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for range 2 {
			r := do(t, session, &p.Requests[0])
			if r.Class != protocol.OK || r.Fatal || string(r.Captured[0].B) != c.want {
				t.Errorf("got %q, want %q: %+v", r.Captured[0].B, c.want, r)
			}
		}
	}
	_, err := NewSecure().Dial(t.Context(), protocol.Target{Address: s.Addr}, p)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect || !strings.Contains(e.Text, "name its CA") {
		t.Errorf("an unknown certificate: got %v", err)
	}
	_, err = NewSecure().Dial(t.Context(), protocol.Target{Address: nginx(t).Addr}, p)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect ||
		!strings.Contains(e.Text, "doesn't speak TLS") {
		t.Errorf("a server without TLS: got %v", err)
	}
}

func TestNoReuse(t *testing.T) {
	ports := make(chan string, 10)
	l := listen(t)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ports <- r.RemoteAddr + " " + r.Header.Get("Connection")
	})}
	go server.Serve(l)
	defer server.Close()
	p := &protocol.Program{Requests: []protocol.Request{get("/")}}
	target := protocol.Target{Address: l.Addr().String(), Options: map[string]string{"noreuse": "on"}}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := make(map[string]bool)
	for range 3 {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.Fatal {
			t.Fatalf("got %+v", r)
		}
		seen[<-ports] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 requests came over %d connections", len(seen))
	}
	for s := range seen {
		if !strings.HasSuffix(s, " close") {
			t.Errorf("the server wasn't asked to close: %q", s)
		}
	}
}

// accept calls serve with each connection in turn. It closes the connections when the listener is closed.
func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		serve(c)
	}
}

// If a server answers without reading a long request to its end, net/http closes the connection. No request fails, and
// the next one uses a new connection.
func TestConnectionsGivenUpByTheClient(t *testing.T) {
	l := listen(t)
	go accept(l, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReaderSize(c, 16)); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	long := protocol.Request{Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "POST", Path: "/", Body: make([]byte, 64<<20)}}
	p := &protocol.Program{Requests: []protocol.Request{long}}
	target := protocol.Target{Address: l.Addr().String()}
	c := library(t, target, p)
	for n := range 3 {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.Fatal || r.Reopened != (n > 0) {
			t.Errorf("request %d: %+v", n, r)
		}
	}
	c.Close()
	for n := range 3 { // the codec's connection accepts no further request
		c, err := New().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || !r.Fatal || r.BytesIn == 0 {
			t.Errorf("request %d by the codec: %+v", n, r)
		}
		c.Close()
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestRefusedPort(t *testing.T) {
	l := listen(t)
	l.Close()
	p := &protocol.Program{Requests: []protocol.Request{get("/")}}
	target := protocol.Target{Address: l.Addr().String(), Password: "geheim", User: "u"}
	_, dial := New().Dial(t.Context(), target, p)
	_, take := New().Open(t.Context(), target, p)
	_, describe := New().Describe(t.Context(), target)
	for _, err := range []error{dial, take, describe} {
		e := protocol.AsError(err)
		if e == nil || e.Class != protocol.Connect ||
			!strings.Contains(e.Text, "connection refused; is the server running there?") || strings.Contains(e.Text, "geheim") {
			t.Errorf("got %v", err)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	post := protocol.Request{ID: 1, Verb: protocol.HTTP, Web: &protocol.Web{Method: "POST", Path: "/", Body: []byte("x")}}
	p := &protocol.Program{Requests: []protocol.Request{get("/"), post}}
	s := testserver.Nginx(t)
	target := protocol.Target{Address: s.Addr}
	for i, late := range []protocol.Class{protocol.Timeout, protocol.UnknownOutcome} {
		tiers(t, target, p, func(t *testing.T, c protocol.Conn) {
			if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK {
				t.Fatalf("before: %+v", r)
			}
			s.Pause()
			var reply protocol.Reply
			c.Do(protocoltest.Within(t, 100*time.Millisecond), &p.Requests[i], nil, &reply)
			if reply.Class != late || !reply.Fatal {
				t.Errorf("%s while paused: %+v, want %v", p.Requests[i].Web.Method, reply.Failure, late)
			}
			s.Resume()
		})
	}
	tiers(t, target, p, func(t *testing.T, c protocol.Conn) {
		s.Pause()
		done := make(chan protocol.Reply)
		go func() { done <- do(t, c, &p.Requests[0]) }()
		s.Kill()
		if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
			t.Errorf("killed: %+v", r)
		}
		s.Restart()
	})
}

func TestAnswersThatAreNotHTTP(t *testing.T) {
	l := listen(t)
	go accept(l, func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	p := &protocol.Program{Requests: []protocol.Request{get("/")}}
	tiers(t, protocol.Target{Address: l.Addr().String()}, p, func(t *testing.T, c protocol.Conn) {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.Protocol && r.Class != protocol.UnknownOutcome || !r.Fatal {
			t.Errorf("got %+v", r)
		}
	})
}

// The product of a server is taken from its answers. No additional request is sent.
func TestDescribeSendsNothing(t *testing.T) {
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Server", "shop/1.7 (Debian)")
	}))
	t.Cleanup(s.Close)
	target := protocol.Target{Address: strings.TrimPrefix(s.URL, "http://")}
	d := New()
	info, err := d.Describe(t.Context(), target)
	if err != nil || info.Product != anonymous || requests.Load() != 0 {
		t.Errorf("%+v after %d requests, %v", info, requests.Load(), err)
	}
	if info, ok := d.Learned(target); ok {
		t.Errorf("known before any answer: %+v", info)
	}
	for name, connect := range map[string]func(*Driver, *protocol.Program) protocol.Conn{
		"library": func(d *Driver, p *protocol.Program) protocol.Conn {
			c, err := d.Dial(t.Context(), target, p)
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		"codec": func(d *Driver, p *protocol.Program) protocol.Conn { return protocoltest.Take(t, d, target, p, 64<<10) },
	} {
		t.Run(name, func(t *testing.T) {
			d, p := New(), &protocol.Program{Requests: []protocol.Request{get("/")}}
			c := connect(d, p)
			defer c.Close()
			do(t, c, &p.Requests[0])
			if info, _ := d.Learned(target); info.Product != "shop" || info.Version != "1.7" ||
				info.Settings["protocol"] != "HTTP/1.1" {
				t.Errorf("%+v", info)
			}
		})
	}
}

// A proxy that accepts connections for a server that isn't there, and closes them, is not a server.
func TestDescribeOfAProxyWithoutServer(t *testing.T) {
	l := listen(t)
	go accept(l, func(c net.Conn) { c.Close() })
	_, err := New().Describe(t.Context(), protocol.Target{Address: l.Addr().String()})
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect ||
		!strings.Contains(e.Text, "closes connections at once") {
		t.Errorf("got %v", err)
	}
}

// The server notices that a request has timed out, over HTTP/1.1 and over HTTP/2.
func TestTimeoutEndsTheRequest(t *testing.T) {
	ended := make(chan string, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- r.Proto
		panic(http.ErrAbortHandler) // the answer could still be in time
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	secure := s.Client().Transport.(*http.Transport).TLSClientConfig
	for option, want := range map[string]string{"on": "HTTP/2.0", "off": "HTTP/1.1"} {
		p := &protocol.Program{Requests: []protocol.Request{get("/")}}
		c, err := New().Dial(t.Context(), protocol.Target{Address: s.Listener.Addr().String(), TLS: secure,
			Options: map[string]string{"http2": option}}, p)
		if err != nil {
			t.Fatal(err)
		}
		var reply protocol.Reply
		c.Do(protocoltest.Within(t, 100*time.Millisecond), &p.Requests[0], nil, &reply)
		if reply.Class != protocol.Timeout || !reply.Fatal {
			t.Errorf("%s: %+v", want, reply.Failure)
		}
		select {
		case got := <-ended:
			if got != want {
				t.Errorf("a request over %s ended, want %s", got, want)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s: the server goes on", want)
		}
		c.Close()
	}
}

// In TestTLS the codec uses HTTP/1.1 over TLS. If HTTP/2 is negotiated, net/http takes over the connection.
func TestTLS(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
		io.WriteString(w, strings.Repeat("x", 100_000))
	}))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	defer s.Close()
	secure := s.Client().Transport.(*http.Transport).TLSClientConfig
	target := protocol.Target{Address: s.Listener.Addr().String(), TLS: secure}
	if why, ok := protocol.LoopsTake(New(), target, &protocol.Program{}); ok || !strings.Contains(why, "TLS") {
		t.Errorf("event loops take TLS: %s", why)
	}
	for option, want := range map[string]string{"on": "HTTP/2.0", "off": "HTTP/1.1"} {
		req := get("/")
		req.Capture = []protocol.Capture{{Name: "header:Proto"}}
		p := &protocol.Program{Requests: []protocol.Request{req}}
		target.Options = map[string]string{"http2": option}
		before := connections.Load()
		c, err := New().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r := do(t, c, &p.Requests[0])
			if r.Class != protocol.OK || string(r.Captured[0].B) != want || r.BytesIn < 100_000 {
				t.Errorf("%s: %v %q, %d bytes", want, r.Failure, r.Captured[0].B, r.BytesIn)
			}
		}
		c.Close()
		if made := connections.Load() - before; made != 1 {
			t.Errorf("%s: %d connections were made for one", want, made)
		}
		if _, codec := c.(*blocking.Conn); codec != (option == "off") {
			t.Errorf("%s is spoken by %T", want, c)
		}
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	p := &protocol.Program{Requests: []protocol.Request{get("/")}}
	_, err := New().Dial(t.Context(), protocol.Target{Address: plain.Listener.Addr().String(), TLS: secure}, p)
	if e := protocol.AsError(err); e == nil || e.Code != TLSFault || !strings.Contains(e.Text, "doesn't speak TLS there") {
		t.Errorf("a server without TLS: %v", err)
	}
	_, err = New().Dial(t.Context(), protocol.Target{Address: s.Listener.Addr().String(), TLS: &tls.Config{}}, p)
	if e := protocol.AsError(err); e == nil || e.Code != TLSFault || !strings.Contains(e.Text, "name its CA") {
		t.Errorf("an unknown CA: %v", err)
	}
}
