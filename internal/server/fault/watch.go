package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/record"
)

// line is a message to the watchdog. Exactly one of its fields is set, but Within belongs to Due,
// and Epoch to Log.
type line struct {
	Add    *Cure         `json:"add,omitempty"`    // a cure to do if brunt dies
	Done   string        `json:"done,omitempty"`   // the ID of a cure that is no longer needed
	Log    string        `json:"log,omitempty"`    // file for what the watchdog heals; see Executor.Keep
	Epoch  int64         `json:"epoch,omitempty"`  // with Log: when the run's clock was 0, ns since the Unix epoch
	Begun  *running      `json:"begun,omitempty"`  // a command that is about to run
	Ended  string        `json:"ended,omitempty"`  // the Mark of a command that has ended
	Due    string        `json:"due,omitempty"`    // the ID of a cure that must be done within a time from now
	Within time.Duration `json:"within,omitempty"` // this time; 0 for no limit
	Claim  string        `json:"claim,omitempty"`  // the ID of a cure that brunt is about to do; the watchdog answers
}

// answer is the watchdog's answer to a claim: what it has done of the cure, since its time was over, or nothing.
type answer struct {
	Claim  string  `json:"claim"`
	Healed *healed `json:"healed,omitempty"`
}

// claimed is how long brunt may take for a cure that it has claimed, in addition to the cure's own limit for each
// attempt.
const claimed = 5 * time.Second

// Watch runs the watchdog. It reads lines until in ends, which happens when brunt ends for any reason. Then it ends
// brunt's commands and does the remaining cures, the latest first. A cure whose time is over is done while brunt lives:
// brunt is stopped, or has no time. Answers are written to out. other does cures that aren't of faults; see Guard.
// Watch returns the errors of the cures that failed, joined.
func Watch(in io.Reader, out io.Writer, other func(context.Context, json.RawMessage) error) error {
	w := &guard{out: json.NewEncoder(out), other: other}
	lines := make(chan line)
	go func() {
		defer close(lines)
		readLines(in, lines)
	}()
	for {
		select {
		case l, more := <-lines:
			if !more {
				return w.finish()
			}
			w.take(&l)
		case <-w.overdue():
			w.healOverdue()
		}
	}
}

// readLines passes lines on until in ends or a line can't be read: brunt was killed while writing it.
func readLines(in io.Reader, to chan<- line) {
	const longest = 16 << 20
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			return
		}
		to <- l
	}
}

// guard is the state of the watchdog's process.
type guard struct {
	open     []*held
	commands []*running
	log      *linefile.File
	epoch    int64
	out      *json.Encoder
	other    func(context.Context, json.RawMessage) error
}

// held is a cure that the watchdog holds.
type held struct {
	*Cure
	dueAt time.Time // zero for no limit
	done  *healed   // nil unless the watchdog has done the cure
}

func (w *guard) find(id string) *held {
	i := slices.IndexFunc(w.open, func(h *held) bool { return h.ID == id })
	if i < 0 {
		return nil
	}
	return w.open[i]
}

// take handles a line.
func (w *guard) take(l *line) {
	switch {
	case l.Add != nil:
		w.open = append(w.open, &held{Cure: l.Add})
	case l.Done != "":
		w.open = slices.DeleteFunc(w.open, func(h *held) bool { return h.ID == l.Done })
	case l.Log != "" && w.log == nil:
		w.log, w.epoch = keepLog(l.Log), l.Epoch
	case l.Begun != nil:
		w.commands = append(w.commands, l.Begun)
	case l.Ended != "":
		w.commands = slices.DeleteFunc(w.commands, func(r *running) bool { return r.Mark == l.Ended })
	case l.Due != "":
		if h := w.find(l.Due); h != nil {
			h.dueWithin(l.Within)
		}
	case l.Claim != "":
		a := answer{Claim: l.Claim}
		if h := w.find(l.Claim); h != nil {
			a.Healed = h.done
			h.dueWithin(healAttempts*(h.limit()+healPause) + claimed)
		}
		_ = w.out.Encode(&a) // brunt is gone if this fails, and in ends
	}
}

func (h *held) dueWithin(d time.Duration) {
	if h.dueAt = time.Now().Add(d); d == 0 {
		h.dueAt = time.Time{}
	}
}

// overdue returns a channel that receives when the next cure is overdue; nil if none has a limit.
func (w *guard) overdue() <-chan time.Time {
	var first time.Time
	for _, h := range w.open {
		if !h.dueAt.IsZero() && h.done == nil && (first.IsZero() || h.dueAt.Before(first)) {
			first = h.dueAt
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// healOverdue does the cures whose time is over. If one fails, brunt tries again when it can, or Watch at the end.
func (w *guard) healOverdue() {
	for _, h := range w.open {
		if h.dueAt.IsZero() || h.done != nil || time.Now().Before(h.dueAt) {
			continue
		}
		w.endCommands(h.ID)
		done, err := w.heal(h)
		if h.dueAt = (time.Time{}); err == nil {
			h.done = done
		}
	}
}

// endCommands ends the commands of a fault, or of all if id is "". A command that heals is left to end, for as long as
// it may take: it would be done once more at the same time.
func (w *guard) endCommands(id string) {
	for _, r := range w.commands {
		if id == "" || r.ID == id {
			r.end()
		}
	}
	w.commands = slices.DeleteFunc(w.commands, func(r *running) bool { return id == "" || r.ID == id })
}

// heal does a cure and notes it.
func (w *guard) heal(h *held) (*healed, error) {
	done := &healed{BeginNs: time.Now().UnixNano(), Undone: record.Undone{ID: h.ID}}
	err := w.do(h.Cure)
	if errors.Is(err, errEnded) {
		err = nil
	}
	if err != nil {
		done.Error = said([]byte(err.Error()))
		err = fmt.Errorf("%s: %w", h.ID, err)
	}
	done.DoneNs = time.Now().UnixNano()
	w.note(done)
	return done, err
}

func (w *guard) do(c *Cure) error {
	if c.Other == nil {
		return c.Do(context.Background())
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit())
	defer cancel()
	return w.other(ctx, c.Other)
}

// note appends to the log. A cure that isn't noted is done again by a process that resumes the load.
func (w *guard) note(h *healed) {
	if w.log != nil {
		h.HealBeginNs, h.HealedNs = max(h.BeginNs-w.epoch, 1), max(h.DoneNs-w.epoch, 0)
		_ = w.log.AppendJSON(h)
	}
}

// finish does what is left when brunt has ended.
func (w *guard) finish() error {
	w.note(&healed{BeginNs: time.Now().UnixNano()})
	w.endCommands("")
	var errs []error
	for _, h := range slices.Backward(w.open) {
		if h.done != nil {
			continue
		}
		if _, err := w.heal(h); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
