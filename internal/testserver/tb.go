package testserver

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// TB is what starting a server needs of its caller; *testing.T, *testing.B and *Standalone
// have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(func())
}

// Standalone is a TB for programs that aren't tests. Its Close must be called, usually deferred
// in main.
type Standalone struct {
	log  io.Writer
	exit func(code int)

	mu       sync.Mutex
	cleanups []func()
}

// NewStandalone returns a TB that logs to w. A fatal failure stops what was started and ends the
// process with status 1.
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

// Cleanup adds f to what Close does.
func (s *Standalone) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// Close runs the cleanups, last added first. It is safe to call twice.
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

// skipper is what tests and benchmarks have next to TB.
type skipper interface{ Skip(args ...any) }

// SkipQuick skips a test that needs a server, or long, where tests run with -short: `make quick`, which must take less
// than a minute in all. Starting a server does so too, but a test whose subtests share servers, or that computes much
// before it needs one, must be skipped before that.
func SkipQuick(t TB) {
	t.Helper()
	f := flag.Lookup("test.short")
	if s, ok := t.(skipper); ok && f != nil && f.Value.String() == "true" {
		s.Skip("needs a server, or long")
	}
}

// Program starts a server program that takes its address, host:port, as the last of its arguments.
// It serves once it accepts connections.
func Program(t TB, name, path string, args ...string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      name,
		binary:    path,
		arguments: func(s *Server) []string { return append(args[:len(args):len(args)], s.Addr) },
	}, &Server{})
}
