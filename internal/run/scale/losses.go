package scale

import (
	"cmp"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/render/message"
)

// shares is which shares of lost workers others have. The roster's lock guards it.
type shares struct {
	losses  []schedule.Loss
	granter *schedule.Granter // gives out the operations of closed stages, with Redistribute
}

// Exited records that the process of a worker, numbered from 0, has ended, and how. It is safe for concurrent use.
func (c *Coordinator) Exited(worker int, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[worker]
	m.gone = cmp.Or(how, "it has ended")
	if c.startNs > 0 && m.state != Ended && !m.lost {
		c.lose(m, message.New("lost.ended", message.Text("how", how)))
	}
	c.cond.Broadcast()
}

// silence returns how long a worker may go without a report before it is lost: 2.5 intervals, which is less than three,
// but at least leastSilence.
func (c *Coordinator) silence() time.Duration {
	return max(c.o.Interval*5/2, leastSilence)
}

// leastSilence is the minimum of silence. It prevents that workers with very short intervals are lost because a machine
// is busy.
const leastSilence = 1500 * time.Millisecond

// watch declares workers lost that have not reported for longer than silence.
func (c *Coordinator) watch() {
	tick := time.NewTicker(max(c.o.Interval/4, 50*time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
		now := time.Now()
		c.mu.Lock()
		late := now.Sub(last) > c.silence()/2 // this process itself was stopped
		for _, m := range c.members {
			if late {
				m.seen = now
			}
			begun := m.state == Running || m.state == Sent || m.state == Ready && c.beginsBefore(now)
			if begun && !m.lost && now.Sub(m.seen) > c.silence() {
				c.lose(m, message.New("lost.silent", message.Span("for", now.Sub(m.seen).Round(100*time.Millisecond))))
			}
		}
		c.mu.Unlock()
		last = now
	}
}

// beginsBefore reports whether, at the time now, every worker must have reported that its load has begun. c.mu must be
// held.
func (c *Coordinator) beginsBefore(now time.Time) bool {
	return c.startNs > 0 && now.After(c.clock.At(c.startNs).Add(c.silence()))
}

// lose marks a worker as lost and applies the policy for lost workers. The worker may come back. c.mu must be held.
func (c *Coordinator) lose(m *member, why message.Message) {
	m.lost, m.lostNs, m.why = true, c.clock.Now(), why
	m.inbox.close()
	c.tell("worker %s is lost %s into the load: %s", m.name(),
		time.Duration(m.lostNs-c.startNs).Round(100*time.Millisecond), why)
	c.journal.note(&event{Lost: &m.number, AtNs: m.lostNs, Why: why})
	switch c.o.OnLost {
	case Abort:
		c.halt(false, message.New("stop.worker-lost", message.Text("worker", m.name())))
	case Redistribute:
		c.give(m)
	}
	c.cond.Broadcast()
}

// give assigns the share of a lost worker to the other workers: from the time until which it may send, or, if its
// process has ended and this is earlier, from one interval after the loss, when the others know of it. c.mu must be
// held.
func (c *Coordinator) give(m *member) {
	loss := schedule.Loss{Machine: uint64(m.number), FromNs: m.untilNs}
	if m.gone != "" {
		loss.FromNs = min(loss.FromNs, m.lostNs-c.startNs+int64(c.o.Interval))
	}
	for _, other := range c.members {
		if !other.lost && !other.given && other.state != Ended {
			loss.Receivers = append(loss.Receivers, uint64(other.number))
		}
	}
	if len(loss.Receivers) == 0 {
		return
	}
	m.given = true
	c.losses = append(c.losses, loss)
	c.journal.note(&event{Loss: &loss})
	c.tell("the share of worker %s is sent by the other %d from %s into the load on", m.name(), len(loss.Receivers),
		time.Duration(loss.FromNs).Round(100*time.Millisecond))
}

// grant answers a worker's request for operations of a closed stage. A worker that is lost, or whose share was given to
// others, gets no new operations, and neither does any worker after Stop. c.mu must be held.
func (c *Coordinator) grant(m *member, w *schedule.Request) *schedule.Grant {
	alive, request := 0, *w
	for _, other := range c.members {
		if !other.lost && other.state != Ended {
			alive++
		}
	}
	if m.given || c.stop || m.lost {
		request.Number, request.Ended = 0, false
	}
	g, events := c.granter.Grant(m.number, &request, alive)
	for i := range events {
		c.journal.note(&event{Grant: &events[i]})
	}
	return &g
}

// Redistributes reports whether the shares of lost workers are given to other workers.
func (c *Coordinator) Redistributes() bool { return c.o.OnLost == Redistribute }

// Unneeded returns how many operations of closed stages that have ended were given to no worker.
func (c *Coordinator) Unneeded() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granter.Unneeded()
}

// lease returns how long a worker may go on sending after a report: an interval longer than silence, so that only a
// lost worker reaches this limit.
func (c *Coordinator) lease() time.Duration { return c.silence() + c.o.Interval }
