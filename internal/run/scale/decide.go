package scale

import (
	"context"
	"encoding/json"
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
