package protocoltest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/http"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/protocol/socket"
	"brunt/test/testserver"
)

// tunnels is an HTTP proxy for CONNECT. It returns its URL.
func tunnels(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		req, err := nethttp.ReadRequest(r)
		if err != nil || req.Method != nethttp.MethodConnect {
			return
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		defer to.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, r) }()
		_, _ = io.Copy(c, to)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return "http://" + l.Addr().String()
}

// Sessions of every protocol take the target's way. What isn't here is tested in the protocol's own package.
func TestWays(t *testing.T) {
	for _, c := range []struct {
		start  func(t *testing.T) subject
		secure protocoltest.Handshake
	}{
		{postgresSubject, askedForTLS}, {redis2Subject, protocoltest.Plain}, {iprotoSubject, protocoltest.Plain},
		{httpSubject, protocoltest.Plain}, {etcdSubject, protocoltest.Plain},
	} {
		s := c.start(t)
		q := &s.queries[0]
		if q.adjust != nil {
			if _, err := q.client(); err != nil {
				t.Fatal(err)
			}
			q.adjust(&q.request)
		}
		program := &protocol.Program{Requests: []protocol.Request{q.request}}
		if s.name == "http" { // nginx' port without TLS doesn't take HTTP/2
			s.target.Options = map[string]string{"http2": "off"}
		}
		for _, way := range protocoltest.Ways(t, s.target, c.secure) {
			t.Run(s.name+"/"+way.Name, func(t *testing.T) {
				way.Takes(t, s.driver, program, protocoltest.Values(q.args...)...)
			})
		}
	}
}

// askedForTLS answers PostgreSQL's SSLRequest.
func askedForTLS(c net.Conn) error {
	if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
		return err
	}
	_, err := c.Write([]byte{'S'})
	return err
}

// A statement is cancelled by the way by which it was sent.
func TestCancelTakesTheWay(t *testing.T) {
	s := postgresSubject(t)
	program := &protocol.Program{Requests: []protocol.Request{{Name: "sleep", Verb: protocol.SQL,
		Text: "SELECT pg_sleep(1000)"}}}
	_, port, err := net.SplitHostPort(s.target.Address)
	if err != nil {
		t.Fatal(err)
	}
	target := s.target
	resolved := "server.invalid:" + port + ":" + target.Address
	if target.Way, err = socket.ParseWay([]string{resolved}, tunnels(t), "", ""); err != nil {
		t.Fatal(err)
	}
	target.Address = "server.invalid:" + port
	c, err := s.driver.Open(t.Context(), target, program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Net.Close()
	out, refused := c.Codec.Encode(nil, &program.Requests[0], nil)
	if refused != nil {
		t.Fatal(refused)
	}
	if _, err := c.Net.Write(out); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string)
	go func() {
		b := make([]byte, 4<<10)
		n, _ := c.Net.Read(b)
		for n > 0 && !strings.Contains(string(b[:n]), "57014") && n < len(b) { // query_canceled
			more, err := c.Net.Read(b[n:])
			if n += more; err != nil {
				break
			}
		}
		answered <- string(b[:n])
	}()
	for tried := 0; ; tried++ { // one that arrives before the statement begins has no effect
		c.Cancel(protocoltest.Within(t, 20e9))
		select {
		case text := <-answered:
			if !strings.Contains(text, "57014") {
				t.Errorf("answered %q", text)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
		if tried == 200 {
			t.Fatal("the statement goes on")
		}
	}
}

// nginx learns the client's address from the PROXY protocol, over TCP and over a Unix socket.
func TestProxyProtocol(t *testing.T) {
	folder := t.TempDir()
	unix := filepath.Join(folder, "s")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	announced := free.Addr().String()
	free.Close()
	server := testserver.Nginx(t, testserver.Locations(fmt.Sprintf(
		"listen %s proxy_protocol;\nlisten unix:%s proxy_protocol;\n"+
			"location /who { return 200 \"<$proxy_protocol_addr>\"; }",
		announced, unix)))
	program := &protocol.Program{Requests: []protocol.Request{{Name: "who", Verb: protocol.HTTP,
		Web:     &protocol.Web{Method: "GET", Path: "/who"},
		Capture: []protocol.Capture{{Name: "body", Kind: gen.String}}}}}
	for name, c := range map[string]struct {
		announce, address, to, want string
	}{
		"version 1":     {"v1", announced, "", "<127.0.0.1>"},
		"version 2":     {"v2", announced, "", "<127.0.0.1>"},
		"a Unix socket": {"v1", "nginx.invalid:80", unix, "<>"},
		"none":          {"", server.Addr, "", "<>"},
	} {
		t.Run(name, func(t *testing.T) {
			target := protocol.Target{Address: c.address}
			var resolve []string
			if c.to != "" {
				resolve = []string{c.address + ":" + c.to}
			}
			var err error
			if target.Way, err = socket.ParseWay(resolve, "", c.announce, ""); err != nil {
				t.Fatal(err)
			}
			conn, err := http.New().Dial(t.Context(), target, program)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var reply protocol.Reply
			conn.Do(context.Background(), &program.Requests[0], nil, &reply)
			if reply.Class != protocol.OK || string(reply.Captured[0].B) != c.want {
				t.Errorf("%+v, body %q; want %q", reply.Failure, reply.Captured[0].B, c.want)
			}
		})
	}
}
