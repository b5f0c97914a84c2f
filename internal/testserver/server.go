// Package testserver starts real servers for tests and benchmarks: on free loopback ports, with
// data directories of their own, stopped at the end. A server whose program is missing fails the
// test with the command that installs it.
package testserver

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	Addr     string // host:port
	Host     string // 127.0.0.1
	Port     int
	User     string      // "" if the server knows no users
	Password string      // "" if it asks for none
	Database string      // "" if it knows no databases
	PID      int         // of the parent process; changes at Restart
	Dir      string      // its data, configuration and log; removed at the end
	TLS      *tls.Config // for clients, if it was started with TLS; nil otherwise
	CAFile   string      // the certificate that clients must trust, if it was started with TLS

	tb    TB
	spec  *spec
	ports []*reservation
	running
}

// spec is how one kind of server is started.
type spec struct {
	name      string
	binary    string
	ports     int // how many it needs; the first is the one for clients; 1 if 0
	cred      *syscall.Credential
	death     syscall.Signal // when the test process dies; SIGKILL if 0
	stop      syscall.Signal // the friendly way to stop; SIGTERM if 0
	prepare   func(s *Server) error
	configure func(s *Server) (file, content string) // its configuration, once the ports are known
	arguments func(s *Server) []string
	ready     func(s *Server) error // nil once it serves; if absent, it does when it accepts connections
	apart     func(s *Server) []int // processes of the server that aren't below its first one
}

// launch starts a server and waits until it serves. Ports that turn out to be taken are replaced.
func launch(tb TB, sp *spec, s *Server) *Server {
	tb.Helper()
	SkipQuick(tb)
	s.tb, s.spec, s.Host = tb, sp, loopback
	sp.ports, sp.death, sp.stop = max(sp.ports, 1), cmp.Or(sp.death, syscall.SIGKILL), cmp.Or(sp.stop, syscall.SIGTERM)
	if sp.ready == nil {
		sp.ready = dialOnce
	}
	if err := s.makeDir(); err != nil {
		tb.Fatalf("%s: %v", sp.name, err)
	}
	tb.Cleanup(s.close)
	if sp.prepare != nil {
		if err := sp.prepare(s); err != nil {
			tb.Fatalf("%s: %v", sp.name, err)
		}
	}
	for attempt := 1; ; attempt++ {
		err := s.takePorts()
		if err == nil && sp.configure != nil {
			_, err = s.write(sp.configure(s))
		}
		if err == nil {
			err = s.start()
		}
		if err == nil {
			return s
		}
		if attempt == startRetries || !s.portTaken() {
			tb.Fatalf("%v", err)
		}
		os.Remove(filepath.Join(s.Dir, "log"))
	}
}

// makeDir creates the server's folder, owned by the user that it will run as.
func (s *Server) makeDir() error {
	dir, err := os.MkdirTemp("", "brunt-test-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	s.Dir = dir
	return s.own(dir)
}

// own gives a file or folder to the user that the server runs as.
func (s *Server) own(path string) error {
	if s.spec.cred == nil {
		return nil
	}
	return os.Chown(path, int(s.spec.cred.Uid), int(s.spec.cred.Gid))
}

// write makes a file in the server's folder that only its user can read.
func (s *Server) write(name, content string) (path string, err error) {
	path = filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, s.own(path)
}

func (s *Server) takePorts() error {
	s.releasePorts()
	for range s.spec.ports {
		r, err := reservePort()
		if err != nil {
			return err
		}
		s.ports = append(s.ports, r)
	}
	s.Port = s.ports[0].port
	s.Addr = s.Host + ":" + strconv.Itoa(s.Port)
	return nil
}

func (s *Server) releasePorts() {
	for _, r := range s.ports {
		r.release()
	}
	s.ports = nil
}

// start starts the program and waits until it serves. The caller sees to it that it isn't
// running.
func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.spawn()
	if err != nil {
		return err
	}
	s.proc, s.PID = p, p.pid
	var notReady error
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); {
		if notReady = s.spec.ready(s); notReady == nil {
			return nil
		}
		if p.ended(pollEvery) {
			return fmt.Errorf("%s ended at start (%v): %s", s.spec.name, p.err, s.lastLines(12))
		}
	}
	p.kill()
	return fmt.Errorf("%s wasn't ready within %v (%v): %s", s.spec.name, readyTimeout, notReady, s.lastLines(12))
}

// Pause freezes the server with all its processes (SIGSTOP) and returns when they stand still. The
// kernel goes on accepting connections for it.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range append(s.apart(), s.proc.pid) {
		Freeze(pid)
	}
}

// apart lists the first processes of what runs next to the server's own.
func (s *Server) apart() []int {
	if s.spec.apart == nil {
		return nil
	}
	return s.spec.apart(s)
}

// Resume ends a Pause (SIGCONT).
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range s.apart() {
		Thaw(pid)
	}
	s.proc.signal(syscall.SIGCONT)
}

// Kill ends the server at once (SIGKILL to all its processes) and returns when it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc.gone() {
		return
	}
	Freeze(s.proc.pid) // so that it doesn't start again what is killed
	for _, pid := range s.apart() {
		Freeze(pid)
		signalTree(pid, syscall.SIGKILL)
	}
	s.proc.kill()
}

// Stop ends the server in an orderly way and returns when it is gone.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.terminate(s.spec.stop)
}

// Restart stops the server if it still runs and starts it again on the same port with the same
// data. It returns when it serves.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	for attempt := 1; ; attempt++ {
		err := s.start()
		if err == nil {
			return
		}
		if attempt == startRetries || !s.portTaken() {
			s.tb.Fatalf("%v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *Server) close() {
	if s.proc != nil {
		s.Stop()
	}
	s.releasePorts()
	os.RemoveAll(s.Dir)
}
