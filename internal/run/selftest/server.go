package selftest

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"brunt/internal/protocol/echo"
)

// rule answers the requests at the start of in: it appends the answers to out and returns how many bytes it consumed.
// The remaining bytes are the beginning of an incomplete request. A malformed request is an error.
type rule func(out, in []byte) (answers []byte, consumed int, err error)

// Servers are small servers on loopback, one for each of Protocols, that give the same answer to every request. They do
// as little as a server can, so the generator is the bottleneck.
type Servers struct {
	// Addresses are host:port by protocol.
	Addresses map[string]string

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
	listen []net.Listener
	echo   *echo.Server
	wg     sync.WaitGroup
}

// Protocols returns the protocols that have a server here, in the order of the table.
func Protocols() []string { return []string{"echo", "pg", "iproto", "redis", "http"} }

// Listen starts the servers on free ports of 127.0.0.1.
func Listen() (*Servers, error) {
	s := &Servers{Addresses: make(map[string]string), open: make(map[net.Conn]struct{})}
	var err error
	if s.echo, err = echo.Listen("127.0.0.1:0", echo.Config{}); err != nil {
		return nil, err
	}
	s.Addresses["echo"] = s.echo.Address()
	for _, c := range []struct {
		protocol string
		greeting string
		start    func() rule // called for each connection
	}{
		{"pg", "", func() rule { return (&postgres{}).answer }},
		{"iproto", iprotoGreeting(), func() rule { return iproto }},
		{"redis", "", func() rule { return redis }},
		{"http", "", func() rule { return http }},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("start the %s server: %w", c.protocol, err)
		}
		s.Addresses[c.protocol] = l.Addr().String()
		s.listen = append(s.listen, l)
		s.wg.Go(func() { s.accept(l, c.greeting, c.start) })
	}
	return s, nil
}

// Close stops the servers. It may be called more than once.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		c.Close()
	}
	for _, l := range s.listen {
		l.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.echo.Close()
}

func (s *Servers) accept(l net.Listener, greeting string, start func() rule) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			c.Close()
		} else {
			s.open[c] = struct{}{}
			s.wg.Go(func() { s.serve(c, greeting, start()) })
		}
		s.mu.Unlock()
	}
}

// longest is the most bytes that a request may have.
const longest = 64 << 10

var errTooLong = errors.New("a request is longer than 64 KiB")

func (s *Servers) serve(c net.Conn, greeting string, answer rule) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	if _, err := c.Write([]byte(greeting)); err != nil {
		return
	}
	in, held := make([]byte, longest), 0
	var out []byte
	for {
		n, err := c.Read(in[held:])
		if err != nil {
			return
		}
		held += n
		var consumed int
		if out, consumed, err = answer(out[:0], in[:held]); err == nil && consumed == 0 && held == len(in) {
			err = errTooLong
		}
		if len(out) > 0 {
			if _, failed := c.Write(out); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
		held = copy(in, in[consumed:held])
	}
}
