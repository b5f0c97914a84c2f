package testserver

import (
	"bytes"
	"io"
	"net"
	"sync"
)

// Tap is a proxy before a server, which keeps what clients send.
type Tap struct {
	// Addr is the address at which the tap listens.
	Addr string

	tb      TB
	to      string
	mu      sync.Mutex
	clients []*bytes.Buffer // what each connection has sent, in the order in which they were made
	open    sync.WaitGroup
}

// NewTap starts a tap before the server at an address. It ends with the test.
func NewTap(t TB, address string) *Tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &Tap{Addr: listener.Addr().String(), tb: t, to: address}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			sent := &bytes.Buffer{}
			p.clients = append(p.clients, sent)
			p.open.Add(1)
			p.mu.Unlock()
			go p.serve(client, sent)
		}
	}()
	return p
}

// serve passes on one connection until the client closes it.
func (p *Tap) serve(client net.Conn, sent io.Writer) {
	defer p.open.Done()
	defer client.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		p.tb.Logf("tap: %v", err)
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server) // the end of either direction ends both
		client.Close()
	}()
	_, _ = io.Copy(server, io.TeeReader(client, sent))
}

// To makes the tap pass on further connections to the server at another address.
func (p *Tap) To(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = address
}

// Take waits until the clients have closed their connections. It returns what each of them has sent since the last call,
// in the order in which they were made.
func (p *Tap) Take() (clients [][]byte) {
	p.open.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sent := range p.clients {
		clients = append(clients, sent.Bytes())
	}
	p.clients = nil
	return clients
}
