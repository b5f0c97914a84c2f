//go:build linux

package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// proxyConfig is what a proxy does to what passes through it.
type proxyConfig struct {
	delay time.Duration // of answers
	// cut resets a connection once so many bytes of answers have gone through it; 0 never. What is
	// left of the piece in which that happens is lost.
	cut int
}

// proxy passes connections on to a server.
type proxy struct {
	address string
	server  string
	config  proxyConfig

	mu       sync.Mutex
	listener net.Listener
	open     map[*net.TCPConn]bool
}

func newProxy(server string, c proxyConfig) (*proxy, error) {
	p := &proxy{address: "127.0.0.1:0", server: server, config: c, open: map[*net.TCPConn]bool{}}
	return p, p.listen()
}

func (p *proxy) listen() error {
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.address = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c.(*net.TCPConn))
		}
	}()
	return nil
}

// refuse resets all connections and refuses new ones.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for c := range p.open {
		reset(c)
	}
}

func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

func (p *proxy) serve(client *net.TCPConn) {
	c, err := net.Dial("tcp", p.server)
	if err != nil {
		reset(client)
		return
	}
	server := c.(*net.TCPConn)
	p.mu.Lock()
	p.open[client] = true
	p.mu.Unlock()
	go func() {
		io.Copy(server, client)
		server.CloseWrite()
	}()
	p.answer(client, server)
	server.Close()
	client.Close()
	p.mu.Lock()
	delete(p.open, client)
	p.mu.Unlock()
}

// piece is what was read at a time.
type piece struct {
	at   time.Time
	data []byte
}

// answer passes answers on, each so late, up to the cut.
func (p *proxy) answer(client, server *net.TCPConn) {
	pieces := make(chan piece, 4096)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := server.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now(), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	passed := 0
	for piece := range pieces {
		time.Sleep(time.Until(piece.at.Add(p.config.delay)))
		if passed += len(piece.data); p.config.cut > 0 && passed >= p.config.cut {
			reset(client)
			break
		}
		if _, err := client.Write(piece.data); err != nil {
			break
		}
	}
	server.Close()
	for range pieces { // lets the reader end
	}
}
