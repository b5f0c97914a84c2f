package protocoltest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// Way is a target that reaches a server on a way of its own, and what tells whether connections took it.
type Way struct {
	Name   string
	Target protocol.Target
	relay  *relay
}

// Handshake is what a client does on a connection before TLS; nil: nothing. The relay answers it.
type Handshake func(net.Conn) error

// Ways returns the ways to the server of a target: other addresses for a name, proxies, the PROXY protocol, Unix
// sockets and, if secure isn't nil, TLS with a client's certificate. The server is the same for all: before it stands a
// relay that asks for what belongs to the way, and passes on what follows.
func Ways(t TB, plain protocol.Target, secure Handshake) (all []Way) {
	t.Helper()
	_, port, err := net.SplitHostPort(plain.Address)
	if err != nil {
		t.Fatalf("%v", err)
	}
	name := "server.invalid:" + port // only the way knows it
	folder, err := os.MkdirTemp("", "brunt-ways-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	start := func(network, address string, before func(*relay, net.Conn) (net.Conn, string, error)) *relay {
		return startRelay(t, network, address, plain.Address, before)
	}
	add := func(label string, r *relay, address string, resolve []string, via, announce string) *Way {
		target := plain
		target.Address = address
		if target.Way, err = socket.ParseWay(resolve, via, announce, ""); err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		all = append(all, Way{label, target, r})
		return &all[len(all)-1]
	}
	direct, tunnel := start("tcp", loopback, nil), start("tcp", loopback, connect)
	unix, proxied := start("unix", filepath.Join(folder, "s"), nil), start("tcp", loopback, announced)
	add("another address", direct, name, []string{name + ":" + direct.address}, "", "")
	add("a Unix socket", unix, unix.address, nil, "", "")
	add("a Unix socket for a name", unix, name, []string{name + ":" + unix.address}, "", "")
	add("a proxy", tunnel, plain.Address, nil, "http://"+tunnel.address, "")
	add("a name through a proxy", tunnel, name, []string{name + ":" + plain.Address}, "http://"+tunnel.address, "")
	add("PROXY v1", proxied, proxied.address, nil, "", "v1")
	add("PROXY v2", proxied, name, []string{name + ":" + proxied.address}, "", "v2")
	add("PROXY v1 through a proxy", proxied, proxied.address, nil, "http://"+tunnel.address, "v1")
	if secure == nil {
		return all
	}
	certificate, roots := certificates(t)
	secured := start("tcp", loopback, func(_ *relay, c net.Conn) (net.Conn, string, error) {
		return terminate(c, secure, certificate)
	})
	for _, via := range []string{"", "http://" + tunnel.address} {
		w := add(strings.TrimSpace("a client's certificate "+via[:min(4, len(via))]), secured, name,
			[]string{name + ":" + secured.address}, via, "")
		w.Target.TLS = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, ServerName: "example.com"}
	}
	return all
}

const loopback = "127.0.0.1:0"

// Takes sends the program's first request over the way, with each tier that the driver has, and checks that all
// connections took the way and that one to a dead address is refused in one line.
func (w *Way) Takes(t errorTB, d protocol.Driver, p *protocol.Program, args ...gen.Value) {
	t.Helper()
	ctx := Within(t, time.Minute)
	w.relay.reset()
	c, err := d.Dial(ctx, w.Target, p)
	if err != nil {
		_, wrong := w.relay.taken()
		t.Fatalf("%v (%v)", err, wrong)
	}
	var reply protocol.Reply
	c.Do(ctx, &p.Requests[0], args, &reply)
	c.Close()
	if reply.Class != protocol.OK {
		t.Errorf("%s: %+v", reply.Class, reply.Failure)
	}
	if codec, ok := d.(protocol.CodecDriver); ok {
		if _, takes := codec.Takes(w.Target, p); takes {
			reply = protocol.Reply{}
			Take(t, codec, w.Target, p, 64<<10).Do(ctx, &p.Requests[0], args, &reply)
			if reply.Class != protocol.OK {
				t.Errorf("the codec: %s: %+v", reply.Class, reply.Failure)
			}
		}
	}
	if _, err := d.Describe(ctx, w.Target); err != nil {
		t.Errorf("describe: %v", err)
	}
	if n, wrong := w.relay.taken(); n < 2 || wrong != nil {
		t.Errorf("%d connections took the way, of which one: %v", n, wrong)
	}
	dead := w.Target
	dead.Way = &socket.Way{Resolve: map[string]string{dead.Address: "127.0.0.1:1"}}
	if _, err := d.Dial(ctx, dead, p); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a dead address: %v", err)
	}
}

// relay takes connections, asks for what belongs to a way, and passes on what follows.
type relay struct {
	address, to string
	before      func(*relay, net.Conn) (rest net.Conn, to string, err error)

	mu    sync.Mutex
	n     int
	wrong error // of the last connection that wasn't as it should be
}

func startRelay(t TB, network, address, to string, before func(*relay, net.Conn) (net.Conn, string, error)) *relay {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { l.Close() })
	r := &relay{address: l.Addr().String(), to: to, before: before}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r
}

func (r *relay) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n, r.wrong = 0, nil
}

func (r *relay) taken() (n int, wrong error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n, r.wrong
}

func (r *relay) serve(c net.Conn) {
	defer c.Close()
	rest, to, err := c, r.to, error(nil)
	if r.before != nil {
		if rest, to, err = r.before(r, c); to == "" {
			to = r.to
		}
	}
	r.mu.Lock()
	r.n++
	if err != nil && !errors.Is(err, io.EOF) { // a connection that only asked whether someone is there
		r.wrong = err
	}
	r.mu.Unlock()
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, rest); server.Close() }()
	_, _ = io.Copy(rest, server)
}

// buffered is a connection of which a part was read.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

// Read implements io.Reader.
func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// connect answers a client of an HTTP proxy.
func connect(_ *relay, c net.Conn) (net.Conn, string, error) {
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	switch {
	case err != nil:
		return nil, "", err
	case req.Method != http.MethodConnect:
		return nil, "", fmt.Errorf("a proxy was asked for %s", req.Method)
	}
	_, err = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	return buffered{c, r}, req.Host, err
}

// announced reads the header of the PROXY protocol, which must have the client's address.
func announced(_ *relay, c net.Conn) (net.Conn, string, error) {
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return nil, "", err
	}
	want := socket.Announcement(1, c.RemoteAddr(), c.LocalAddr())
	if first[0] == '\r' {
		want = socket.Announcement(2, c.RemoteAddr(), c.LocalAddr())
	}
	got := make([]byte, len(want))
	_, err = io.ReadFull(r, got)
	// Through a proxy, the client's own address isn't the one that the relay sees.
	if err == nil && !bytes.Equal(got, want) && !bytes.HasPrefix(got, []byte("PROXY TCP4 127.0.0.1 127.0.0.1 ")) {
		err = fmt.Errorf("the header of the PROXY protocol is %q, want %q", got, want)
	}
	if err == nil && first[0] == 'P' && got[len(got)-1] != '\n' { // ports of other lengths
		_, err = r.ReadString('\n')
	}
	return buffered{c, r}, "", err
}

// terminate ends TLS, and wants a client's certificate and the server's name.
func terminate(c net.Conn, before Handshake, certificate tls.Certificate) (net.Conn, string, error) {
	if err := before(c); err != nil {
		return nil, "", err
	}
	s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
		NextProtos: []string{"h2", "http/1.1"}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.HandshakeContext(ctx); err != nil {
		return nil, "", err
	}
	state := s.ConnectionState()
	switch {
	case state.ServerName != "example.com":
		return nil, "", fmt.Errorf("the server's name is %q", state.ServerName)
	case !bytes.Equal(state.PeerCertificates[0].Raw, certificate.Certificate[0]):
		return nil, "", errors.New("the client has another certificate")
	}
	return s, "", nil
}

// Plain is the Handshake of protocols whose connections begin with TLS.
func Plain(net.Conn) error { return nil }

// certificates returns one for "example.com", which clients have too, and its authority.
func certificates(t TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil) // of its own certificate
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.TLS.Certificates[0], roots
}
