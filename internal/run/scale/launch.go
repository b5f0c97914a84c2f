package scale

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Processes are the processes that this process has started for workers: the workers themselves, or the clients (ssh,
// srun) that run them elsewhere.
type Processes struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	running map[*exec.Cmd]bool
}

// Start starts cmd and writes the ticket to its standard input. Its standard error is copied to log line by line, each
// line with prefix. exited is called with the state of the process when it has ended.
func (p *Processes) Start(cmd *exec.Cmd, t *Ticket, log io.Writer, prefix string, exited func(*os.ProcessState)) error {
	ticket, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd.Stdin = bytes.NewReader(ticket)
	lines := &prefixed{w: log, prefix: prefix}
	cmd.Stderr, cmd.Stdout = lines, lines
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	p.mu.Lock()
	if p.running == nil {
		p.running = map[*exec.Cmd]bool{}
	}
	p.running[cmd] = true
	p.mu.Unlock()
	p.wg.Go(func() {
		_ = cmd.Wait() // the process state has the result
		lines.end()
		p.mu.Lock()
		delete(p.running, cmd)
		p.mu.Unlock()
		exited(cmd.ProcessState)
	})
	return nil
}

// termPatience is the time that processes have to end, and to end what they have started, after SIGTERM.
const termPatience = time.Second

// Stop waits until all processes have ended. After patience it sends SIGTERM to the remaining ones, and kills them
// after termPatience.
func (p *Processes) Stop(patience time.Duration) {
	done := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(patience):
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-done:
		return
	case <-time.After(termPatience):
	}
	p.signal(os.Kill)
	<-done
}

func (p *Processes) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for cmd := range p.running {
		_ = cmd.Process.Signal(s) // fails if the process has just ended
	}
}

// prefixed writes each line with a prefix.
type prefixed struct {
	w      io.Writer
	prefix string
	rest   []byte
}

// Write implements io.Writer.
func (l *prefixed) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(l.w, "%s%s\n", l.prefix, line); err != nil {
			return len(b), err
		}
		l.rest = rest
	}
}

// end writes an incomplete last line.
func (l *prefixed) end() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n"))
	}
}
