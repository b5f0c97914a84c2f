package scale

import (
	"context"
	"encoding/json"
	"time"

	"brunt/internal/measure"
)

// Decision is a piece of the schedule of an adaptive phase: the rate from where the piece before it ends. All workers
// append the same pieces.
type Decision struct {
	Phase   string          `json:"phase"`
	UntilNs int64           `json:"until_ns"` // after the phase's beginning
	Control measure.Control `json:"control"`
}

// At is the moment at which the coordinator's clock reads ns.
func (c *Coordinator) At(ns int64) time.Time { return c.clock.At(ns) }

// Epoch is where the run's clock is 0.
func (c *Coordinator) Epoch() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.At(c.o.Job.EpochNs)
}

// Decide hands a decision to all workers. The journal keeps it before they hear of it, with the state of the phase's
// controller after it, from which a resumed coordinator goes on; nil if it has none.
func (c *Coordinator) Decide(d Decision, state json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(&event{Decision: &d, State: state})
	c.decide(d, state)
	c.cond.Broadcast()
}

func (c *Coordinator) decide(d Decision, state json.RawMessage) {
	c.decisions = append(c.decisions, d)
	if c.states == nil {
		c.states = map[string]json.RawMessage{}
	}
	c.states[d.Phase] = state
}

// instruct adds to an answer what the worker doesn't know yet. The lock is held.
func (c *Coordinator) instruct(a *Answer, said *Report) *Answer {
	a.AllSent = c.allSent
	if n := said.Decisions; n >= 0 && n < len(c.decisions) {
		a.Decisions = c.decisions[n:]
	}
	if n := said.Asked; n > 0 && n <= len(c.phases) {
		a.Phases = c.phases[n-1]
	}
	return a
}

// WaitSent waits until the load is over at all workers, but for lost ones. Then AllSent lets them read back what they
// wrote.
func (c *Coordinator) WaitSent(ctx context.Context) error {
	return c.wait(ctx, func() bool {
		for _, m := range c.members {
			if m.state != Sent && m.state != Ended && !m.lost {
				return false
			}
		}
		return true
	})
}

// AllSent tells the workers that the load is over everywhere.
func (c *Coordinator) AllSent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allSent = true
	c.cond.Broadcast()
}

// asked reports whether all workers have asked for phases that aren't named yet, so that no further interval comes
// before they are, and whether all of their intervals have been passed on. The lock is held.
func (c *Coordinator) asked() (all, passed bool) {
	if c.o.Next == nil || c.stop {
		return false, false
	}
	passed = true
	for _, m := range c.members {
		if m.over {
			continue
		}
		if m.asked <= len(c.phases) {
			return false, false
		}
		all, passed = true, passed && m.passed == m.live
	}
	return all, passed
}

// nextPhases names the phases that all workers ask for.
func (c *Coordinator) nextPhases() {
	phases := c.o.Next()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phases = append(c.phases, phases)
	c.cond.Broadcast()
}

// Follow calls extend with the coordinator's decisions about a phase, until they reach lastsNs after its beginning. It
// returns early when ctx ends, and without a coordinator when the phase is over.
func (w *Worker) Follow(ctx context.Context, phase string, lastsNs int64, extend func(Decision)) {
	end := time.Now().Add(time.Duration(lastsNs))
	for n := 0; ; {
		w.mu.Lock()
		news, changed, heard := w.decisions[n:], w.changed, w.heard
		w.mu.Unlock()
		n += len(news)
		for _, d := range news {
			if d.Phase != phase {
				continue
			}
			if extend(d); d.UntilNs >= lastsNs {
				return
			}
		}
		if time.Now().After(end) && time.Since(heard) > patienceBefore {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}

// Next asks the coordinator which phases come next, and returns what it has put. It returns nil when ctx or the load
// ends, or the coordinator doesn't answer.
func (w *Worker) Next(ctx context.Context) json.RawMessage {
	w.mu.Lock()
	w.asked++
	n := w.asked
	w.mu.Unlock()
	var phases json.RawMessage
	w.until(ctx, func(a *Answer) bool {
		if a.Stop || w.phasesOf == n {
			phases = a.Phases
		}
		return a.Stop || w.phasesOf == n
	})
	return phases
}

// LoadOver tells the coordinator that the load is over here, and returns when it is over everywhere: then what was
// written can be read back. A load that ctx has ended, and not the coordinator, is that of a process that was told to
// stop: it doesn't wait, and Finish says that it leaves.
func (w *Worker) LoadOver(ctx context.Context) {
	w.mu.Lock()
	w.leaves = ctx.Err() != nil && !w.answer.Stop
	if !w.leaves {
		w.state = Sent
	}
	w.mu.Unlock()
	if w.leaves {
		return
	}
	w.until(context.WithoutCancel(ctx), func(a *Answer) bool { return a.AllSent })
}

// until waits until an answer of the coordinator satisfies holds, which is called with the lock held. It gives up when
// ctx ends, or the coordinator hasn't answered for long.
func (w *Worker) until(ctx context.Context, holds func(*Answer) bool) {
	_ = w.Interval(nil) // say it now
	for {
		w.mu.Lock()
		ok, changed, heard := holds(&w.answer), w.changed, w.heard
		w.mu.Unlock()
		if ok || time.Since(heard) > patienceBefore {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.hard:
			return
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}
