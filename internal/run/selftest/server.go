package selftest

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

// Servers are small servers on loopback, one for each of Protocols; see protocol.SelfTest.
type Servers struct {
	// Addresses are host:port by protocol.
	Addresses map[string]string

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
	listen []net.Listener
	wg     sync.WaitGroup
}

// Protocols returns the protocols that have a server here, in the order of the table: first the reference.
func Protocols() []string {
	names := []string{reference}
	for _, d := range protocols.All() {
		if d.SelfTest != nil && d.Name() != reference {
			names = append(names, d.Name())
		}
	}
	return names
}

// Listen starts the servers on free ports of 127.0.0.1.
func Listen() (*Servers, error) {
	s := &Servers{Addresses: make(map[string]string), open: make(map[net.Conn]struct{})}
	for _, name := range Protocols() {
		of := protocols.Of(name).SelfTest
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("start the %s server: %w", name, err)
		}
		s.Addresses[name] = l.Addr().String()
		s.listen = append(s.listen, l)
		s.wg.Go(func() { s.accept(l, of) })
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
}

func (s *Servers) accept(l net.Listener, of *protocol.SelfTest) {
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
			s.wg.Go(func() { s.serve(c, of.Greeting, of.Answers()) })
		}
		s.mu.Unlock()
	}
}

// longest is the most bytes that a request may have.
const longest = 64 << 10

var errTooLong = errors.New("a request is longer than 64 KiB")

func (s *Servers) serve(c net.Conn, greeting string, answer protocol.AnswerFunc) {
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
