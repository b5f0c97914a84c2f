package http

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

// knowing starts a server that speaks HTTP/2, without TLS or with it, and takes the given number of streams of each
// connection at a time (0: Go's default).
func knowing(t *testing.T, secure bool, limit int) (protocol.Target, *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprint(r.Proto, " ", r.Method, " ", r.Host, " ", r.RequestURI, " ", r.Header["X-Id"],
			" ", r.ContentLength, " ", len(body)))
		switch r.URL.Path {
		case "/no":
			w.WriteHeader(http.StatusNotFound)
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		case "/trailers":
			w.Header().Set("Trailer", "X-End")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-End", "1")
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "late")
		case "/reset":
			panic(http.ErrAbortHandler)
		}
	}))
	if limit > 0 {
		s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit + 1}
		s.Listener = telling{s.Listener, byte(limit)}
	}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP2(secure)
	s.Config.Protocols.SetUnencryptedHTTP2(!secure)
	target := protocol.Target{Options: map[string]string{"http2": "prior", "good": "200-299"}}
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		target.TLS = &tls.Config{RootCAs: pool, ServerName: "example.com"}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	target.Address = s.Listener.Addr().String()
	return target, s
}

// telling has a server's connections tell clients that they take one stream less than they do. Go's server may take the
// next request before it notices that the stream whose last frame it has written is over.
type telling struct {
	net.Listener
	limit byte
}

// Accept implements net.Listener.
func (l telling) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &tellingConn{Conn: c, limit: l.limit}, err
}

type tellingConn struct {
	net.Conn
	limit byte
	told  bool
}

// Write implements io.Writer. The server's first frame has its settings.
func (c *tellingConn) Write(b []byte) (int, error) {
	if !c.told {
		c.told = true
		before := []byte{0, byte(http2.SettingMaxConcurrentStreams), 0, 0, 0, c.limit + 1}
		b = bytes.Replace(b, before, append(bytes.Clone(before[:5]), c.limit), 1)
	}
	return c.Conn.Write(b)
}

// web returns a request.
func web(method, path, body string, header ...[2]string) protocol.Request {
	return protocol.Request{Name: path, Verb: protocol.HTTP, Params: make([]gen.Kind, 1),
		Capture: []protocol.Capture{{Name: "header:X-Seen"}},
		Web:     &protocol.Web{Method: method, Path: path, Body: []byte(body), Header: header}}
}

func TestPriorKnowledge(t *testing.T) {
	large := fnv.New64a()
	_, _ = io.WriteString(large, strings.Repeat("x", 1<<20))
	p := &protocol.Program{Requests: []protocol.Request{
		web("GET", "/a?q=$1", "", [2]string{"X-Id", "n$1"}, [2]string{"Connection", "keep-alive"}),
		web("POST", "/b", "text $1", [2]string{"Host", "other"}), web("GET", "/no", ""), web("GET", "/large", ""),
		web("GET", "/trailers", ""), web("GET", "/early", ""), web("HEAD", "/large", ""), web("POST", "/c", "fixed"),
		web("GET", "/reset", ""),
	}}
	p.Requests[3].Web.Hash, p.Requests[3].Web.HashEvery = large.Sum64(), 1
	for i := range p.Requests {
		p.Requests[i].ID = i
	}
	for _, secure := range []bool{false, true} {
		target, _ := knowing(t, secure, 0)
		plain, err := New().Dial(t.Context(), target, p)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		conns := []protocol.Conn{plain}
		if !secure {
			conns = append(conns, protocoltest.Take(t, New(), target, p, 1), protocoltest.Take(t, New(), target, p, 64<<10))
		}
		for _, c := range conns {
			for range 2 {
				answers(t, target.Address, p, c)
			}
		}
	}
}

// answers sends all requests and compares their answers.
func answers(t *testing.T, address string, p *protocol.Program, c protocol.Conn) {
	t.Helper()
	for i, want := range []string{
		"200 HTTP/2.0 GET " + address + " /a?q=%C3%A4 [nä] 0 0", "200 HTTP/2.0 POST other /b [] 7 7",
		"404 HTTP/2.0 GET " + address + " /no [] 0 0", "200 HTTP/2.0 GET " + address + " /large [] 0 0",
		"200 HTTP/2.0 GET " + address + " /trailers [] 0 0", "200 HTTP/2.0 GET " + address + " /early [] 0 0",
		"200 HTTP/2.0 HEAD " + address + " /large [] 0 0", "200 HTTP/2.0 POST " + address + " /c [] 5 5", "reset",
	} {
		r := new(protocol.Reply)
		r.Reset(1)
		c.Do(protocoltest.Within(t, 20e9), &p.Requests[i], protocoltest.Values("ä"), r)
		switch {
		case want == "reset":
			if r.Class != protocol.UnknownOutcome || r.Code != "RST_STREAM" || r.Fatal {
				t.Errorf("reset: %+v", r.Failure)
			}
			continue
		case fmt.Sprint(r.Status, " ", string(r.Captured[0].B)) != want:
			t.Errorf("%s: got %d %s, want %s; %+v", p.Requests[i].Name, r.Status, r.Captured[0].B, want, r.Failure)
		case (r.Class == protocol.OK) != (r.Status == 200) || r.BadHash:
			t.Errorf("%s: %+v", p.Requests[i].Name, r)
		}
		if p.Requests[i].Name == "/large" && p.Requests[i].Web.Method == "GET" && r.Parts.BodyBytes != 1<<20 {
			t.Errorf("a body of %d bytes", r.Parts.BodyBytes)
		}
	}
}

// A server of HTTP/1.1 is told apart in one line, and what can't be sent over HTTP/2 is refused.
func TestPriorKnowledgeIsWrong(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	target := protocol.Target{Address: s.Listener.Addr().String(), Options: map[string]string{"http2": "prior"}}
	p := &protocol.Program{Requests: []protocol.Request{web("GET", "/$1", "")}}
	if _, err := New().Dial(t.Context(), target, p); err == nil ||
		!strings.Contains(err.Error(), "it doesn't speak HTTP/2") {
		t.Errorf("%v", err)
	}
	p = &protocol.Program{Requests: []protocol.Request{{Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "GET", Path: "/", Raw: true, Body: []byte("GET / HTTP/1.1\r\n\r\n")}}}}
	if _, err := New().Dial(t.Context(), target, p); err == nil || !strings.Contains(err.Error(), "http2=prior") {
		t.Errorf("%v", err)
	}
}
