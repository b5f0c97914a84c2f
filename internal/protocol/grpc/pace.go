package grpc

import (
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
)

// pace is a call in flight whose messages are sent, or which ends, at times of their own. Message i is due i intervals
// after the stream was opened, whenever those before it were sent.
type pace struct {
	stream *http2.Stream
	id     uint32
	call   *call
	args   []gen.Value
	sent   int       // messages
	queued bool      // the last of them waits for room in the server's windows
	opened time.Time // zero while the server takes no further stream
	pacing *protocol.Pacing
}

// begin adds a call of which the first messages have been encoded.
func (c *codec) begin(s *http2.Stream, k *call, args []gen.Value, sent int) {
	c.paces = append(c.paces, pace{stream: s, id: s.ID, call: k, args: args, sent: sent, pacing: &protocol.Pacing{}})
	if !s.Held() {
		c.paces[len(c.paces)-1].open(c.now())
	}
}

// open begins the call's time, unless that has begun.
func (p *pace) open(now time.Time) {
	if !p.opened.IsZero() {
		return
	}
	p.opened = now
	if p.sent > 0 {
		p.note(0)
	}
}

// note records that a message has been sent, since the stream was opened, unless it waits for room.
func (p *pace) note(since time.Duration) {
	if p.queued = !p.stream.Free(); !p.queued {
		p.pacing.Lag.Add(int64(since - time.Duration(p.sent-1)*p.call.interval))
	}
}

// due returns when the next message is due, after the stream was opened; ok is false if there is none.
func (p *pace) due() (at time.Duration, ok bool) {
	if p.sent >= p.call.send {
		return 0, false
	}
	at = time.Duration(p.sent) * p.call.interval
	return at, p.call.duration == 0 || at < p.call.duration
}

// next returns when something is to be done, after the stream was opened; ok is false if there is nothing.
func (p *pace) next() (at time.Duration, ok bool) {
	if at, ok = p.due(); ok && p.stream.Free() {
		return at, true
	}
	at = p.call.duration
	return at, at > 0 && (p.sent < p.call.send || !p.call.md.IsStreamingClient())
}

// Due implements protocol.Pacer.
func (c *codec) Due() (wait time.Duration, ok bool) {
	if len(c.paces) == 0 {
		return 0, false
	}
	now := c.now()
	for i := range c.paces {
		p := &c.paces[i]
		if !c.Has(p.stream, p.id) || p.stream.Held() {
			continue
		}
		if p.opened.IsZero() {
			return 0, true
		}
		if at, has := p.next(); has {
			at -= now.Sub(p.opened)
			if !ok || at < wait {
				wait, ok = at, true
			}
		}
	}
	return max(wait, 0), ok
}

// Pace implements protocol.Pacer.
func (c *codec) Pace() (ends uint64) {
	if len(c.paces) == 0 {
		return 0
	}
	now := c.now()
	for i := 0; i < len(c.paces); {
		p := &c.paces[i]
		if !c.Has(p.stream, p.id) {
			c.forget(i)
			continue
		}
		i++
		if p.stream.Held() {
			continue
		}
		p.open(now)
		if c.advance(p, now.Sub(p.opened)) {
			return uint64(p.id)
		}
	}
	return 0
}

// advance sends what is due of a call since its stream was opened, and reports whether the call ends now.
func (c *codec) advance(p *pace, since time.Duration) (ends bool) {
	k := p.call
	if p.queued {
		p.note(since)
	}
	for p.stream.Free() {
		at, ok := p.due()
		if !ok || at > since {
			break
		}
		c.body = c.body[:0]
		_ = c.message(k, p.sent, p.args) // Encode has made it once
		p.sent++
		c.Send(p.stream, c.body, p.sent == k.send)
		p.note(since)
	}
	if k.duration == 0 || since < k.duration {
		return false
	}
	if !k.md.IsStreamingClient() {
		c.Expire(p.stream)
		return true
	}
	if p.sent < k.send {
		p.pacing.Unsent += p.overdue(since)
		p.sent = k.send
		c.Send(p.stream, nil, true)
	}
	return false
}

// overdue returns how many messages are due, but not sent.
func (p *pace) overdue(since time.Duration) (n uint64) {
	if at, ok := p.due(); !ok || at > since {
		return 0
	}
	due := p.call.send
	if end := p.call.duration; end > 0 {
		since = min(since, end-1)
	}
	if p.call.interval > 0 {
		due = min(due, int(since/p.call.interval)+1)
	}
	return uint64(due - p.sent)
}

// paced adds how its messages were sent to the reply to a call that has ended.
func (c *codec) paced(s *http2.Stream, id uint32, reply *protocol.Reply) {
	for i := range c.paces {
		p := &c.paces[i]
		if p.stream != s || p.id != id {
			continue
		}
		if p.call.md.IsStreamingClient() {
			if !p.opened.IsZero() {
				p.pacing.Unsent += p.overdue(c.now().Sub(p.opened))
			}
			if p.queued {
				p.pacing.Unsent++
			}
			reply.Pacing = p.pacing
		}
		c.forget(i)
		return
	}
}

// forget removes a call from those that are paced.
func (c *codec) forget(i int) {
	last := len(c.paces) - 1
	c.paces[i] = c.paces[last]
	c.paces[last] = pace{}
	c.paces = c.paces[:last]
}
