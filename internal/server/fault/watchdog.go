package fault

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

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
	epoch    int64
	open     []*guarded
	commands []*running
	claims   map[string]chan *healed // by ID of the cure
	restarts int
	closed   bool
	gone     chan struct{} // closed when the current process has ended
}

// guarded is a cure that the watchdog holds.
type guarded struct {
	*Cure
	due time.Time // when the watchdog does it even if this process lives; zero for never
}

// startWatchdog starts a watchdog. command is the command line of a program that calls Watch on its standard input.
func startWatchdog(command []string, warn func(record.Warning)) (*watchdog, error) {
	w := &watchdog{command: command, warn: warn, claims: map[string]chan *healed{}}
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
	answers, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("the watchdog that heals faults can't be started: %w", err)
	}
	gone := make(chan struct{})
	w.process, w.pipe, w.gone = c, pipe, gone
	if w.log != "" {
		w.tell(line{Log: w.log, Epoch: w.epoch})
	}
	for _, r := range w.commands {
		w.tell(line{Begun: r})
	}
	for _, cure := range w.open {
		w.tell(line{Add: cure.Cure})
		w.tellDue(cure)
	}
	go func() {
		w.listen(answers)
		err := c.Wait()
		close(gone)
		w.restart(err)
	}()
	return nil
}

// restart restarts the watchdog after its process has ended unexpectedly.
func (w *watchdog) restart(err error) {
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

// keep makes the watchdog write to a file what it heals. epoch is when the run's clock was 0, in ns since the Unix
// epoch.
func (w *watchdog) keep(log string, epoch int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log, w.epoch = log, epoch
	w.tell(line{Log: log, Epoch: epoch})
}

// add registers a cure that is to be done if this process dies, or at the time due even if it lives; zero for never.
func (w *watchdog) add(c *Cure, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &guarded{c, due}
	w.open = append(w.open, g)
	w.tell(line{Add: c})
	w.tellDue(g)
}

// due changes when a cure is to be done even if this process lives; zero for never.
func (w *watchdog) due(id string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.open {
		if g.ID == id {
			g.due = at
			w.tellDue(g)
		}
	}
}

func (w *watchdog) tellDue(g *guarded) {
	l := line{Due: g.ID}
	if !g.due.IsZero() {
		l.Within = max(time.Until(g.due), 1)
	}
	w.tell(l)
}

// claim is called before a cure is done. It returns what the watchdog has done of it, since it was overdue; nil if
// nothing.
func (w *watchdog) claim(c *Cure) *healed {
	w.mu.Lock()
	if w.pipe == nil || w.closed || c.ID == "" {
		w.mu.Unlock()
		return nil
	}
	answered, gone := make(chan *healed, 1), w.gone
	w.claims[c.ID] = answered
	w.tell(line{Claim: c.ID})
	w.mu.Unlock()
	limit := time.NewTimer(c.limit() + claimed) // it may be about to do it
	defer limit.Stop()
	select {
	case h := <-answered:
		return h
	case <-gone:
	case <-limit.C:
	}
	return nil
}

// listen takes the watchdog's answers until it ends.
func (w *watchdog) listen(from io.Reader) {
	for lines := json.NewDecoder(from); ; {
		var a answer
		if lines.Decode(&a) != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		w.mu.Lock()
		if to := w.claims[a.Claim]; to != nil {
			to <- a.Healed
			delete(w.claims, a.Claim)
		}
		w.mu.Unlock()
	}
}

// begun tells of a command before it runs, so that the watchdog ends it if this process dies.
func (w *watchdog) begun(r *running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, r)
	w.tell(line{Begun: r})
}

// ended tells that a command has ended.
func (w *watchdog) ended(r *running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = slices.DeleteFunc(w.commands, func(o *running) bool { return o == r })
	w.tell(line{Ended: r.Mark})
}

// done removes a cure that is no longer needed.
func (w *watchdog) done(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = slices.DeleteFunc(w.open, func(g *guarded) bool { return g.ID == id })
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

// Guard undoes changes other than faults if this process dies: each by the function that Watch is called with, in a
// process of its own.
type Guard struct{ dog *watchdog }

// NewGuard starts a guard. command is the command line of a program that calls Watch on its standard input.
func NewGuard(command []string, warn func(record.Warning)) (*Guard, error) {
	dog, err := startWatchdog(command, warn)
	if err != nil {
		return nil, err
	}
	return &Guard{dog}, nil
}

// Hold registers what is to be undone. It must be called before the change.
func (g *Guard) Hold(id string, other json.RawMessage) {
	g.dog.add(&Cure{ID: id, Other: other}, time.Time{})
}

// Release says that nothing remains to be undone.
func (g *Guard) Release(id string) { g.dog.done(id) }

// Close ends the guard, which first undoes what wasn't released.
func (g *Guard) Close() { g.dog.close() }
