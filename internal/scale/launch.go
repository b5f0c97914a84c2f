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

// Processes are the processes through which workers run: the workers themselves, or clients of what runs them.
type Processes struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	running map[*exec.Cmd]bool
}

// Start starts cmd with the ticket on its standard input. What it writes to standard error goes to log, line by line,
// each with prefix in front. exited is called when it has ended, with how.
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
		_ = cmd.Wait() // its state says how it ended
		lines.end()
		p.mu.Lock()
		delete(p.running, cmd)
		p.mu.Unlock()
		exited(cmd.ProcessState)
	})
	return nil
}

// termPatience is how long processes may take to end what they have started when they are told to.
const termPatience = time.Second

// Stop waits until all processes have ended. Those that haven't after patience are told to end, and then killed.
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
		_ = cmd.Process.Signal(s) // it may just have ended
	}
}

// prefixed writes whole lines with a prefix.
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

// end writes what has no end of line.
func (l *prefixed) end() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n"))
	}
}
