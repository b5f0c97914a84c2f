package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

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

// folder returns the folder into which a worker's bundle is received.
func (c *Coordinator) folder(worker int) string { return c.members[worker].inbox.folder() }

// Discard removes the received bundles.
func (c *Coordinator) Discard() error {
	err := os.RemoveAll(c.o.Dir)
	for k := range c.members {
		err = errors.Join(err, os.RemoveAll(c.folder(k))) // it may have been moved
	}
	return err
}

// Bundles opens the received bundles of all workers. They have the state in which each worker became ready.
func (c *Coordinator) Bundles() (parts []*record.Recorded, err error) {
	for k := range c.members {
		p, err := record.Open(record.OS{}, c.folder(k))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Part is what the coordinator has received from one worker.
type Part struct {
	Name   string
	Dir    string // folder of its bundle, as far as it was received
	Spool  string // folder of the bundle on the worker's own machine
	Lost   bool
	Filled json.RawMessage // with Job.Fill: what the worker has filled; nil if it fills nothing
	LostNs int64           // when it was lost, since the start of the load
	Why    message.Message // why it was lost
	// GivenNs is the time, since the start of the load, from which other workers had the share of a lost worker; 0 if
	// none had.
	GivenNs int64
}

// mayReturn reports whether lost workers may still come back: no worker's bundle is complete, and AwaitReturn hasn't
// waited for them in vain.
func (c *Coordinator) mayReturn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unheard && !slices.ContainsFunc(c.members, func(m *member) bool { return m.state == Ended })
}

// Receive waits until the bundles of all workers have been received, and returns what was received. When the other
// workers have ended, lost workers have grace to come back, unless their process is known to have ended. If all are
// lost, they have Options.Patience if that is longer: then the cause is probably the network, and their load may still
// run. Receive returns early when ctx ends.
func (c *Coordinator) Receive(ctx context.Context, grace time.Duration) []Part {
	all := func(lostToo bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.members, func(m *member) bool {
				return m.state != Ended && (!m.lost || lostToo && m.gone == "")
			})
		}
	}
	if err := c.wait(ctx, all(false)); err == nil {
		if c.mayReturn() {
			grace = max(grace, c.o.Patience)
		}
		timed, cancel := context.WithTimeout(ctx, grace)
		_ = c.wait(timed, all(true)) // a worker that has not come back by then stays lost
		cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []Part
	for _, m := range c.members {
		p := Part{Name: m.name(), Dir: c.folder(m.number), Spool: m.hello.Dir, Lost: m.state != Ended || m.given,
			Filled: m.filled}
		if p.Lost {
			p.LostNs = cmp.Or(m.lostNs, c.clock.Now()) - c.startNs
			if p.Why = m.why; p.Why.IsZero() {
				p.Why = message.New("lost.no-bundle")
			}
		}
		for _, l := range c.losses {
			if l.Machine == uint64(m.number) {
				p.GivenNs = max(l.FromNs, 1)
			}
		}
		parts = append(parts, p)
	}
	return parts
}
