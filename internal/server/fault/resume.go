package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/base/linefile/filelock"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// healed is a line of a watchdog's log: a cure that it has done, or, without ID, that its executor has ended. Times are
// nanoseconds since the Unix epoch.
type healed struct {
	BeginNs int64 `json:"begin_ns"`
	DoneNs  int64 `json:"done_ns,omitempty"`
	record.Undone
}

// keepLog opens the log of a watchdog, which is locked until the process ends. Without a log, nothing is noted.
func keepLog(path string) *linefile.File {
	if path == "" {
		return nil
	}
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		filelock.Claim(f) // it stays open as long as the process lives
	}
	log, err := linefile.Open(path)
	if err != nil {
		return nil
	}
	return log
}

// readLog waits until no watchdog uses a log, and returns its lines by ID. It returns early if ctx ends.
func readLog(ctx context.Context, path string) map[string]healed {
	for filelock.Claimed(path) && protocol.Sleep(ctx, 50*time.Millisecond) {
	}
	all := map[string]healed{}
	text, err := os.ReadFile(path)
	if err != nil {
		return all // the watchdog was killed, too, or there was none
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		var h healed
		if json.Unmarshal(line, &h) == nil {
			all[h.ID] = h
		}
	}
	return all
}

// AwaitWatchdog waits until the watchdog of a process that was killed has ended. log is its log. It returns early if
// ctx ends.
func AwaitWatchdog(ctx context.Context, log string) { readLog(ctx, log) }

// Keep makes a process that resumes after this one was killed know what has happened to faults: note is called with
// each change, concurrently, and the watchdog writes to log what it heals. It must be called before Begin or Resume.
func (c *Executor) Keep(log string, note func(*record.Fault)) {
	c.note, c.log = note, log
}

// keepLog makes the watchdog write to the log, once the run's clock runs.
func (c *Executor) keepLog() {
	if c.dog != nil && c.log != "" {
		c.dog.keep(c.log, time.Now().UnixNano()-c.o.Now())
	}
}

// Past is what a process that was killed has left of a timeline.
type Past struct {
	Epoch   time.Time           // when the run's clock was 0
	StartNs int64               // when the load began, by the run's clock
	Faults  []record.Fault      // the last state of each that was noted; see Executor.Keep
	Log     string              // of the watchdog
	Note    func(*record.Fault) // see Executor.Keep
}

// Resume continues the timeline of an executor whose process was killed, in place of Keep and Begin. It waits for the
// watchdog of that process, and heals what it left. A fault that was in effect stays healed: it was cut short. Faults
// whose time came in between are not injected. The record says both.
func (c *Executor) Resume(ctx context.Context, past *Past) {
	by := readLog(ctx, past.Log)
	c.Keep(past.Log, past.Note)
	c.keepLog()
	for i := range past.Faults {
		c.settle(&past.Faults[i], by, past.Epoch)
	}
	c.begunBy = ctx
	ctx, c.cancel = context.WithCancel(ctx)
	c.startNs = past.StartNs
	now := c.o.Now()
	for i := range c.table {
		e := &c.table[i]
		if c.mine(e.Fault) && c.startNs+int64(e.At) <= now && !c.begun(e.Fault, e.Number) {
			c.missed(e, c.startNs+int64(e.At), "brunt had been killed when it was due")
		}
	}
	for i := range c.o.Plan.Faults {
		if f := &c.o.Plan.Faults[i]; c.mine(f) {
			c.wait.Go(func() { c.run(ctx, f) })
		}
	}
}

// settle records a fault of the killed process, and heals it if that wasn't done.
func (c *Executor) settle(r *record.Fault, by map[string]healed, epoch time.Time) {
	at := slices.IndexFunc(c.o.Plan.Faults, func(f plan.Fault) bool { return f.Name == r.Name })
	if at < 0 {
		return
	}
	f := &c.o.Plan.Faults[at]
	c.mu.Lock()
	c.faults = append(c.faults, r)
	c.mu.Unlock()
	if r.DoneNs == 0 {
		r.DoneNs, r.Error = r.BeginNs, "brunt was killed while it was done"
		c.warn(record.NewWarning("fault-failed", message.Text("fault", f.Name), message.Count("n", r.Number),
			message.Text("error", r.Error)))
	}
	if !f.Heals() || r.HealedNs > 0 {
		return
	}
	since := func(ns int64) int64 { return max(ns-epoch.UnixNano(), r.DoneNs) }
	id := occurrence(f, r.Number)
	if h, done := by[id]; done {
		r.HealBeginNs, r.HealedNs, r.HealError = since(h.BeginNs), since(h.DoneNs), h.Error
		if h.Error != "" {
			r.HealedNs = 0
		}
	}
	if end, told := by[""]; r.HealedNs == 0 && told && (f.Kind == plan.FaultNetwork || f.Kind == plan.FaultFlood) {
		r.HealBeginNs, r.HealedNs = since(end.BeginNs), since(end.BeginNs) // it ended with the process
	}
	if r.HealedNs == 0 {
		c.healAgain(f, r)
	}
	if r.HealedNs > 0 {
		c.warn(record.Notice("fault-cut-short", message.Text("fault", f.Name), message.Count("n", r.Number),
			message.Span("after", time.Duration(r.HealedNs-r.BeginNs))))
	}
	c.changed(r)
}

// healAgain heals a fault that the watchdog didn't: it was killed, too, or failed. What the plan names now is healed,
// without regard to pick: healing what isn't disturbed does no harm.
func (c *Executor) healAgain(f *plan.Fault, r *record.Fault) {
	every := *f
	every.Pick = ""
	d, err := &action{cure: &Cure{Command: f.Process.Restart}}, error(nil)
	if d.heal = c.doer(d.cure, f, r.Number, true); f.Process.Restart == "" {
		d, err = c.action(&every, r.Number)
	}
	if err == nil && d.cure != nil {
		c.heal(f, d, r)
		return
	}
	r.HealBeginNs = c.o.Now()
	r.HealedNs = r.HealBeginNs
	if err != nil && !errors.Is(err, errEnded) && f.Kind == plan.FaultProcess {
		r.HealError = said([]byte(err.Error()))
	}
}

// missed records a fault that was not injected at its time, and why; atNs is 0 if its time never came.
func (c *Executor) missed(e *Entry, atNs int64, why string) {
	r := c.planned(e)
	r.BeginNs, r.DoneNs, r.Error = atNs, atNs, why
	c.mu.Lock()
	c.faults = append(c.faults, r)
	c.mu.Unlock()
	c.warn(record.NewWarning("fault-failed", message.Text("fault", r.Name), message.Count("n", r.Number),
		message.Text("error", r.Error)))
	c.changed(r)
}

// occurrence identifies an occurrence of a fault.
func occurrence(f *plan.Fault, number int) string { return fmt.Sprintf("%s %d", f.Name, number) }

// begun reports whether an occurrence of a fault is recorded.
func (c *Executor) begun(f *plan.Fault, number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.faults, func(r *record.Fault) bool { return r.Name == f.Name && r.Number == number })
}
