package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running server program.
type process struct {
	pid  int
	done chan struct{} // closed when it has ended and was reaped
	err  error         // how it ended; valid after done
}

// spawn starts the server's program with its output in Dir/log.
func (s *Server) spawn() (*process, error) {
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.spec.binary, s.spec.arguments(s)...)
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = attributes(s.spec.cred, s.spec.death)
	p, err := run(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.spec.name, err)
	}
	return p, nil
}

// run starts a program. A thread is locked for as long as the program runs, because the kernel's parent-death signal is
// bound to the thread.
func run(cmd *exec.Cmd) (*process, error) {
	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ended reports whether the program has ended. It waits up to d for that.
func (p *process) ended(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// gone reports whether the program has ended, so that its PID may have been reused.
func (p *process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Freeze stops a process and all its descendants (SIGSTOP), and returns once the kernel reports all of them as stopped:
// a process that received the signal can run on until it gets a core. Thaw resumes them. Parents are stopped first,
// because a stopped parent can't start another child while its children are being listed.
func Freeze(pid int) {
	syscall.Kill(pid, syscall.SIGSTOP)
	seen := make(map[int]bool)
	for again := true; again; {
		awaitStop(pid)
		again = false
		for _, child := range Descendants(pid) {
			if !seen[child] {
				seen[child], again = true, true
				syscall.Kill(child, syscall.SIGSTOP)
			}
		}
		for child := range seen {
			awaitStop(child)
		}
	}
}

// Thaw resumes a frozen process and all its descendants (SIGCONT).
func Thaw(pid int) { signalTree(pid, syscall.SIGCONT) }

// awaitStop waits until a process is stopped or gone.
func awaitStop(pid int) {
	for !standsStill(pid) {
		time.Sleep(time.Millisecond)
	}
}

// signalTree sends sig to a process and all its descendants, children first.
func signalTree(pid int, sig syscall.Signal) {
	below := Descendants(pid)
	for i := len(below) - 1; i >= 0; i-- {
		syscall.Kill(below[i], sig)
	}
	syscall.Kill(pid, sig)
}

// EndAll kills the processes that Having finds, and those that they start in the meantime, and returns when none
// is left. It is for processes that outlive what has started them because they become daemons.
func EndAll(t TB, variable string) {
	t.Helper()
	for end := time.Now().Add(stopTimeout); ; time.Sleep(pollEvery) {
		left := Having(variable)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes %v, which have %s, can't be killed", left, variable)
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// signal sends sig to the whole tree and to the program's process group.
func (p *process) signal(sig syscall.Signal) {
	signalTree(p.pid, sig)
	syscall.Kill(-p.pid, sig)
}

// terminate asks the program to end by sig, and kills it if it doesn't.
func (p *process) terminate(sig syscall.Signal) {
	if p.gone() {
		return
	}
	p.signal(syscall.SIGCONT)
	syscall.Kill(p.pid, sig)
	if p.ended(stopTimeout) {
		return
	}
	p.kill()
}

func (p *process) kill() {
	if p.gone() {
		return
	}
	Freeze(p.pid)
	p.signal(syscall.SIGKILL)
	<-p.done
}

// lastLines returns the last n lines of a server's log, for error messages.
func (s *Server) lastLines(n int) string {
	b, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// portTaken reports whether the log says that the port is in use.
func (s *Server) portTaken() bool {
	text := strings.ToLower(s.lastLines(40))
	return strings.Contains(text, "in use")
}

// startRetries is the number of ports that are tried.
const startRetries = 8

const (
	readyTimeout = 5 * time.Minute // limits waits that would never end; on a busy machine a server may be slow
	stopTimeout  = time.Minute
	pollEvery    = 10 * time.Millisecond
)

// running is the part of a Server that its mutex protects.
type running struct {
	mu   sync.Mutex
	proc *process
}
