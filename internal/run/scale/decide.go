package scale

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// At returns the time at which the coordinator's clock reads ns.
func (c *Coordinator) At(ns int64) time.Time { return c.clock.At(ns) }

// Epoch returns the time at which the run's clock reads 0.
func (c *Coordinator) Epoch() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.At(c.o.Job.EpochNs)
}

// WaitSent waits until all workers that aren't lost have ended their load, or ctx ends; then it returns ctx's error.
// After that, AllSent lets the workers read back what they wrote.
func (c *Coordinator) WaitSent(ctx context.Context) error {
	return c.wait(ctx, func() bool {
		return !slices.ContainsFunc(c.members, func(m *member) bool {
			return m.state != Sent && m.state != Ended && !m.lost
		})
	})
}

// AwaitReturn waits, if all workers are lost before their load is over, until one of them is back, and reports whether
// one is. They have Options.Patience for that, unless their processes are known to have ended or the load is being
// stopped: their load probably still runs. It returns false at once if not all are lost, and when ctx ends.
func (c *Coordinator) AwaitReturn(ctx context.Context) bool {
	some := func(holds func(m *member) bool) bool { return slices.ContainsFunc(c.members, holds) }
	back := func(m *member) bool { return !m.lost }
	c.mu.Lock()
	all := !some(back)
	c.mu.Unlock()
	if !all {
		return false
	}
	timed, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	err := c.wait(timed, func() bool { return c.stop || some(back) || !some((*member).sends) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unheard = err != nil && ctx.Err() == nil
	return err == nil && !c.stop && some(back)
}

// sends reports whether a worker may be in its load: it hasn't ended it, and its process isn't known to have ended.
func (m *member) sends() bool { return m.gone == "" && m.state != Sent && m.state != Ended }

// asked reports whether all workers wait for phases that Options.Next has not returned yet, so that no interval arrives
// before it does, and whether the live view has read all of their intervals. c.mu must be held.
func (c *Coordinator) asked() (all, passed bool) {
	if c.o.Next == nil || c.stop {
		return false, false
	}
	passed = true
	given := c.course.given()
	for _, m := range c.members {
		if _, over := m.inbox.live(); over {
			continue
		}
		if m.asked <= given {
			return false, false
		}
		all, passed = true, passed && !m.inbox.behind()
	}
	return all, passed
}

// nextPhases gets the phases that all workers ask for from Options.Next.
func (c *Coordinator) nextPhases() {
	c.course.give(c.o.Next())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cond.Broadcast()
}

// Follow calls extend with each of the coordinator's decisions about a phase, until they cover lastsNs from the phase's
// beginning. It returns early when ctx ends. If the coordinator doesn't answer any more, it returns when the phase is
// over.
func (w *Worker) Follow(ctx context.Context, phase string, lastsNs int64, extend func(Decision)) {
	end := time.Now().Add(time.Duration(lastsNs))
	for n := 0; ; {
		news, changed, heard := w.talk.decided(n)
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

// Next asks the coordinator for the next phases and returns what Options.Next returned. It returns nil when ctx or the
// load ends, or if the coordinator doesn't answer.
func (w *Worker) Next(ctx context.Context) json.RawMessage {
	n := w.talk.ask()
	var phases json.RawMessage
	w.until(ctx, func(a *Answer) (ok bool) {
		if phases, ok = w.talk.phases(n); !ok && a.Stop {
			phases = a.Phases
		}
		return ok || a.Stop
	})
	return phases
}

// LoadOver tells the coordinator that the load is over on this worker, and returns when it is over on all of them: then
// what was written can be read back. If ctx has ended and the coordinator didn't stop the load, this process was told
// to stop: LoadOver doesn't wait, and Finish reports that the worker leaves.
func (w *Worker) LoadOver(ctx context.Context) {
	ended := ctx.Err() != nil // before the answer is read: one that stops the load also ends ctx, afterwards
	answer, _, _, _ := w.talk.last()
	if w.leaves = ended && !answer.Stop; w.leaves {
		return
	}
	w.talk.enter(Sent)
	w.until(context.WithoutCancel(ctx), func(a *Answer) bool { return a.AllSent })
}

// until waits until holds returns true for an answer of the coordinator. It gives up when ctx ends,
// when the worker is stopped hard, or when the coordinator has not answered for patienceBefore.
func (w *Worker) until(ctx context.Context, holds func(*Answer) bool) {
	_ = w.Interval(nil) // report the new state now
	for {
		answer, changed, heard, _ := w.talk.last()
		if holds(&answer) || time.Since(heard) > patienceBefore {
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
