// Package testserver starts real servers for tests and benchmarks, on free loopback ports and with their own data
// directories, and stops them at the end. If a server's program is missing, the test fails with the command that
// installs it.
package testserver

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
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
	User     string      // "" if the server has no users
	Password string      // "" if it requires none
	Database string      // "" if it has no databases
	PID      int         // of the parent process; changes at Restart
	Dir      string      // its data, configuration and log; removed at the end
	TLS      *tls.Config // for clients, if it was started with TLS; nil otherwise
	CAFile   string      // the certificate that clients must trust, if it was started with TLS

	tb    TB
	spec  *spec
	ports []*reservation
	running
}

// spec describes how to start a kind of server.
type spec struct {
	name      string
	binary    string
	ports     int // number of ports, the first for clients; 0 means 1
	cred      *syscall.Credential
	death     syscall.Signal // signal sent when the test process dies; 0 means SIGKILL
	stop      syscall.Signal // signal for an orderly stop; 0 means SIGTERM
	prepare   func(s *Server) error
	configure func(s *Server) (file, content string) // returns the configuration, once the ports are known
	arguments func(s *Server) []string
	ready     func(s *Server) error // returns nil once the server is ready; if nil: once it accepts connections
	apart     func(s *Server) []int // processes of the server that don't descend from its first one
}

// launch starts a server and waits until it is ready. If a port turns out to be in use, it tries others.
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

// makeDir creates the server's folder, owned by the user that the server runs as.
func (s *Server) makeDir() error {
	dir, err := os.MkdirTemp("", "brunt-test-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	s.Dir = dir
	return s.own(dir)
}

// own makes the user that the server runs as the owner of a file or folder.
func (s *Server) own(path string) error {
	if s.spec.cred == nil {
		return nil
	}
	return os.Chown(path, int(s.spec.cred.Uid), int(s.spec.cred.Gid))
}

// write creates a file in the server's folder that only the server's user can read, and returns its path.
func (s *Server) write(name, content string) (path string, err error) {
	path = filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, s.own(path)
}

// execute runs a program to its end, in the server's folder and as the user that the server runs as.
func (s *Server) execute(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.spec.cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out)
	}
	return nil
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

// start starts the program and waits until it is ready. The caller must make sure that it isn't running.
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

// Pause freezes all processes of the server (SIGSTOP) and returns once they are stopped. The kernel still accepts
// connections for it.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range append(s.apart(), s.proc.pid) {
		Freeze(pid)
	}
}

// apart returns the processes of the server that don't descend from its first one.
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

// Kill ends the server immediately (SIGKILL to all its processes) and returns once it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc.gone() {
		return
	}
	Freeze(s.proc.pid) // so that it doesn't restart the killed processes
	for _, pid := range s.apart() {
		Freeze(pid)
		signalTree(pid, syscall.SIGKILL)
	}
	s.proc.kill()
}

// Stop ends the server in an orderly way and returns once it is gone.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.terminate(s.spec.stop)
}

// Restart stops the server if it is running, and starts it on the same port with the same data. It returns once the
// server is ready.
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
