package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// line is a message to the watchdog: a cure to do if brunt dies, or the ID of a cure that is no longer needed.
type line struct {
	Add  *Cure  `json:"add,omitempty"`
	Done string `json:"done,omitempty"`
	Log  string `json:"log,omitempty"` // file for what the watchdog heals; see Executor.Keep
}

// Watch runs the watchdog. It reads lines until in ends, which happens when brunt ends for any reason. Then it does
// the remaining cures, the latest first. It returns the errors of those that failed, joined.
func Watch(in io.Reader) error {
	const longest = 16 << 20
	var open []*Cure
	var log *linefile.File
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			break // cut off in the middle: brunt was killed while writing
		}
		if l.Add != nil {
			open = append(open, l.Add)
		}
		if l.Log != "" && log == nil {
			log = keepLog(l.Log)
		}
		for i, c := range open {
			if c.ID == l.Done {
				open = append(open[:i], open[i+1:]...)
				break
			}
		}
	}
	var errs []error
	note := func(h healed) {
		if log != nil {
			_ = log.AppendJSON(&h) // a fault that isn't noted is healed again
		}
	}
	note(healed{BeginNs: time.Now().UnixNano()})
	for i := len(open) - 1; i >= 0; i-- {
		h := healed{ID: open[i].ID, BeginNs: time.Now().UnixNano()}
		if err := open[i].Do(context.Background()); err != nil && !errors.Is(err, errEnded) {
			errs = append(errs, fmt.Errorf("%s: %w", open[i].ID, err))
			h.Error = said([]byte(err.Error()))
		}
		h.DoneNs = time.Now().UnixNano()
		note(h)
	}
	return errors.Join(errs...)
}

// mostRestarts is how many times a watchdog that died is restarted.
const mostRestarts = 3

// watchdog is a process that heals faults if this process is killed. It is restarted if it dies.
type watchdog struct {
	command []string
	warn    func(record.Warning)

	mu       sync.Mutex
	process  *exec.Cmd
	pipe     io.WriteCloser
	log      string // see Executor.Keep
	open     []*Cure
	restarts int
	closed   bool
	gone     chan struct{} // closed when the current process has ended
}

// startWatchdog starts a watchdog. command is the command line of a program that calls Watch on its standard input.
func startWatchdog(command []string, warn func(record.Warning)) (*watchdog, error) {
	w := &watchdog{command: command, warn: warn}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w, w.start()
}

func (w *watchdog) start() error {
	c := exec.Command(w.command[0], w.command[1:]...)
	c.Args[0] = "brunt" // under whichever name this program was called
	detach(c)
	pipe, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("the watchdog that heals faults can't be started: %w", err)
	}
	gone := make(chan struct{})
	w.process, w.pipe, w.gone = c, pipe, gone
	if w.log != "" {
		w.tell(line{Log: w.log})
	}
	for _, cure := range w.open {
		w.tell(line{Add: cure})
	}
	go func() {
		err := c.Wait()
		close(gone)
		w.ended(err)
	}()
	return nil
}

// ended restarts the watchdog after its process has ended unexpectedly.
func (w *watchdog) ended(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	cause := "it ended"
	if err != nil {
		cause = err.Error()
	}
	if w.restarts++; w.restarts <= mostRestarts && w.start() == nil {
		w.warn(record.Notice("watchdog-restarted", message.Text("error", cause)))
		return
	}
	w.pipe = nil
	w.warn(record.NewWarning("watchdog-gone", message.Text("error", cause)))
}

// tell sends a line to the watchdog. Write errors are ignored: they mean that the process has ended, and ended
// handles that.
func (w *watchdog) tell(l line) {
	if w.pipe == nil {
		return
	}
	if data, err := json.Marshal(l); err == nil {
		_, _ = w.pipe.Write(append(data, '\n'))
	}
}

// keep makes the watchdog write to a file what it heals.
func (w *watchdog) keep(log string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = log
	w.tell(line{Log: log})
}

// add registers a cure that is to be done if this process dies.
func (w *watchdog) add(c *Cure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, c)
	w.tell(line{Add: c})
}

// done removes a cure that is no longer needed.
func (w *watchdog) done(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.open {
		if c.ID == id {
			w.open = append(w.open[:i:i], w.open[i+1:]...)
			break
		}
	}
	w.tell(line{Done: id})
}

// pid returns the PID of the watchdog's process.
func (w *watchdog) pid() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process.Process.Pid
}

// close ends the watchdog, which first does the remaining cures, and waits for it.
func (w *watchdog) close() {
	w.mu.Lock()
	w.closed = true
	pipe, gone := w.pipe, w.gone
	w.mu.Unlock()
	if pipe != nil {
		_ = pipe.Close()
		<-gone
	}
}
