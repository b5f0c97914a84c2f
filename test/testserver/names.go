package testserver

import (
	"net"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is a DNS server on loopback whose answers a test sets. It is safe for concurrent use.
type Names struct {
	conn net.PacketConn

	mu sync.Mutex
	a  map[string][]string // addresses by name
	s  map[string][]uint16 // ports of the service at node.test, by name
}

// ServeNames starts a DNS server in this process.
func ServeNames(t TB) *Names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	n := &Names{conn: conn, a: map[string][]string{}, s: map[string][]uint16{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return n
}

func (n *Names) serve() {
	buf := make([]byte, 4096)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		n.answer(&m)
		if out, err := m.Pack(); err == nil {
			n.conn.WriteTo(out, from)
		}
	}
}

func (n *Names) answer(m *dnsmessage.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	add := func(body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: body})
	}
	name := strings.TrimSuffix(q.Name.String(), ".")
	switch q.Type {
	case dnsmessage.TypeA:
		for _, a := range n.a[name] {
			add(&dnsmessage.AResource{A: [4]byte(net.ParseIP(a).To4())})
		}
	case dnsmessage.TypeSRV:
		for _, port := range n.s[name] {
			add(&dnsmessage.SRVResource{Target: dnsmessage.MustNewName("node.test."), Port: port})
		}
	}
	if n.a[name] == nil && n.s[name] == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
}

// Addr returns the server's address.
func (n *Names) Addr() string { return n.conn.LocalAddr().String() }

// Set sets the IPv4 addresses of a name; none: there is no such name.
func (n *Names) Set(name string, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.a[name] = addresses
}

// SetService sets the ports of the service with a name, at node.test.
func (n *Names) SetService(name string, ports ...uint16) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.s[name] = ports
}
