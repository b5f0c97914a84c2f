package echo

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Server echoes frames. It can be paused, made to give other answers than the echo, and killed and restarted.
type Server struct {
	address  string
	config   Config
	requests atomic.Uint64
	gate     sync.RWMutex // held for writing while the server is paused
	paused   atomic.Bool
	wg       sync.WaitGroup

	mu          sync.Mutex
	listener    net.Listener
	connections map[net.Conn]struct{}
}

// Config is the behaviour of a server. The zero value is a plain echo server.
type Config struct {
	// Answer, if not nil, may change a request into its answer in place. If it returns false, the connection is
	// closed instead. It is called concurrently for different connections.
	Answer func(f Frame) (ok bool)
	// Mangle, if not nil, replaces the bytes that are about to be written to a connection.
	Mangle func(answers []byte) []byte
	// Piece is the maximum number of bytes in one write; 0 means no limit.
	Piece int
	// ReadBuffer is the size of each socket's receive buffer in bytes; 0 means the system's default.
	ReadBuffer int
}

// Listen starts a server at an address such as "127.0.0.1:0".
func Listen(address string, c Config) (*Server, error) {
	s := &Server{address: address, config: c, connections: map[net.Conn]struct{}{}}
	if err := s.Return(); err != nil {
		return nil, err
	}
	return s, nil
}

// Address returns the address that the server listens on.
func (s *Server) Address() string { return s.address }

// Requests returns how many frames have been read and either answered or refused by Config.Answer.
func (s *Server) Requests() uint64 { return s.requests.Load() }

// Return makes a killed server listen again at the same address.
func (s *Server) Return() error {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("start the echo server: %w", err)
	}
	s.mu.Lock()
	s.listener, s.address = l, l.Addr().String()
	s.mu.Unlock()
	s.wg.Go(func() { s.accept(l) })
	return nil
}

// Kill stops listening and resets all connections.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
	}
	for c := range s.connections {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// Close stops the server permanently.
func (s *Server) Close() {
	s.Resume()
	s.Kill()
	s.wg.Wait()
}

// Pause makes the server stop answering, as if it had been stopped by a signal. After Pause returns, it sends no
// answer until Resume is called.
func (s *Server) Pause() {
	if s.paused.CompareAndSwap(false, true) {
		s.gate.Lock()
	}
}

// Resume ends a pause.
func (s *Server) Resume() {
	if s.paused.CompareAndSwap(true, false) {
		s.gate.Unlock()
	}
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		gone := s.listener != l
		if !gone {
			s.connections[c] = struct{}{}
			s.wg.Go(func() { s.serve(c) })
		}
		s.mu.Unlock()
		if gone {
			c.Close()
		}
	}
}

func (s *Server) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.connections, c)
		s.mu.Unlock()
	}()
	if s.config.ReadBuffer > 0 {
		c.(*net.TCPConn).SetReadBuffer(s.config.ReadBuffer)
	}
	buf := make([]byte, 64<<10)
	held := 0
	for {
		n, err := c.Read(buf[held:])
		if err != nil {
			return
		}
		held += n
		whole := held / Size * Size
		if !s.answer(c, buf[:whole]) {
			return
		}
		held = copy(buf, buf[whole:held])
	}
}

// answer answers complete frames. It returns false if the connection must be closed.
func (s *Server) answer(c io.Writer, frames []byte) bool {
	s.gate.RLock()
	defer s.gate.RUnlock()
	keep := true
	for at := 0; at < len(frames) && keep; at += Size {
		if s.config.Answer != nil && !s.config.Answer(Frame(frames[at:at+Size])) {
			frames, keep = frames[:at], false
		}
		s.requests.Add(1)
	}
	if s.config.Mangle != nil {
		frames = s.config.Mangle(frames)
	}
	for len(frames) > 0 {
		piece := len(frames)
		if s.config.Piece > 0 {
			piece = min(piece, s.config.Piece)
		}
		if _, err := c.Write(frames[:piece]); err != nil {
			return false
		}
		frames = frames[piece:]
	}
	return keep
}
