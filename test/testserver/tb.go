package testserver

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// TB is what starting a server needs of its caller. *testing.T, *testing.B and *Standalone implement it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(func())
}

// Standalone is a TB for programs that aren't tests. Close must be called, usually by a defer in main.
type Standalone struct {
	log  io.Writer
	exit func(code int)

	mu       sync.Mutex
	cleanups []func()
}

// NewStandalone returns a TB that logs to w. Fatalf stops the servers that were started and ends the process with
// status 1.
func NewStandalone(w io.Writer) *Standalone { return &Standalone{log: w, exit: os.Exit} }

// Helper does nothing.
func (s *Standalone) Helper() {}

// Logf writes one line.
func (s *Standalone) Logf(format string, args ...any) { fmt.Fprintf(s.log, format+"\n", args...) }

// Fatalf writes one line, runs the cleanups and ends the process.
func (s *Standalone) Fatalf(format string, args ...any) {
	s.Logf(format, args...)
	s.Close()
	s.exit(1)
}

// Cleanup registers f, which Close will call.
func (s *Standalone) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// Close runs the cleanups, the last registered first. It may be called twice.
func (s *Standalone) Close() {
	for {
		s.mu.Lock()
		n := len(s.cleanups)
		if n == 0 {
			s.mu.Unlock()
			return
		}
		f := s.cleanups[n-1]
		s.cleanups = s.cleanups[:n-1]
		s.mu.Unlock()
		f()
	}
}

// skipper is implemented by tests and benchmarks in addition to TB.
type skipper interface{ Skip(args ...any) }

// SkipQuick skips a test that needs a server or takes long if tests run with -short, as in `make quick`, which must
// take less than a minute in all. Starting a server calls it too, but a test whose subtests share servers, or that
// computes much before it needs a server, must call it earlier.
func SkipQuick(t TB) {
	t.Helper()
	f := flag.Lookup("test.short")
	if s, ok := t.(skipper); ok && f != nil && f.Value.String() == "true" {
		s.Skip("needs a server, or long")
	}
}

// Program starts a server program whose last argument is its address, host:port. It is ready once it accepts
// connections.
func Program(t TB, name, path string, args ...string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      name,
		binary:    path,
		arguments: func(s *Server) []string { return append(args[:len(args):len(args)], s.Addr) },
	}, &Server{})
}
