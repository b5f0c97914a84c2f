package pool

import (
	"context"
	"sync"

	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// fork sends the requests of an operation that may be in flight together, and waits for all of them.
func (s *session) fork(ctx context.Context) workload.Move {
	c, clock := &s.cursor, s.pool.cfg.Clock
	if p, ok := s.conn.(protocol.Parallel); !ok || !p.Parallel() {
		return c.Failed(protocol.Failure{Class: protocol.Client,
			Text: "this connection takes one request of an operation at a time"}, clock.Now())
	}
	s.limitSilence(c.Silence())
	lanes := c.Lanes()
	f := &forked{session: s}
	f.changed.L = &f.mu
	var all sync.WaitGroup
	for range max(lanes.AtOnce(), 1) - 1 {
		all.Go(func() { f.run(ctx) })
	}
	f.run(ctx)
	all.Wait()
	return c.Joined(clock.Now())
}

// forked are requests in flight together.
type forked struct {
	session *session

	mu       sync.Mutex // guards the session's cursor, too
	changed  sync.Cond  // an answer has come
	inFlight int
}

// run sends one request after the other, until there are no more.
func (f *forked) run(ctx context.Context) {
	s := f.session
	c := &s.cursor
	request := c.Request()
	var reply protocol.Reply
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		number, args, ok := c.Lanes().Take()
		if !ok && f.inFlight == 0 {
			return
		}
		if !ok {
			f.changed.Wait()
			continue
		}
		f.inFlight++
		f.mu.Unlock()
		reply.Reset(len(request.Capture))
		s.conn.Do(ctx, request, args, &reply)
		f.mu.Lock()
		f.inFlight--
		c.LaneAnswered(number, &reply)
		f.changed.Broadcast()
	}
}
