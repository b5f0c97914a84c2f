package pool

import (
	"context"
	"sync/atomic"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/protocol"
)

// source hands out the operations of one stage to the sessions of a pool.
type source interface {
	// take waits for the next operation of a session and returns it with its intended start, which is −1 in closed
	// loads. ok is false when the stage is over.
	take(ctx context.Context, s *session) (i uint64, intended int64, ok bool)
	// feed makes operations available until the stage is over or ctx is done.
	feed(ctx context.Context)
	// yieldLost fails operations that can't be sent because no session is connected. It returns false if the stage is
	// over.
	yieldLost(s *session) bool
	// open reports whether there may be further operations.
	open() bool
	// arrivals reports whether the load is open.
	arrivals() bool
	// took records that an operation is in progress, has failed or was given up. Like due, it is called with the mutex
	// of the pool's account held.
	took()
	// due returns how many arrivals fell due since the last call and how many are due and not taken.
	due(now int64) (fell, backlog uint64)
	// next is the number of the first operation after the stage.
	next() uint64
}

func (p *Pool) newSource(stage schedule.Stage) source {
	if stage.Open() {
		return newArrivals(p, stage)
	}
	return &closedSource{pool: p, stage: stage}
}

// closedSource gives every free session the next operation.
type closedSource struct {
	pool  *Pool
	stage schedule.Stage
	taken atomic.Uint64
	ended atomic.Bool
}

func (c *closedSource) take(ctx context.Context, _ *session) (uint64, int64, bool) {
	s := &c.stage
	if s.Numbers != nil {
		return c.takeGiven(ctx)
	}
	if !c.open() {
		return 0, 0, false
	}
	k := c.taken.Add(1) - 1
	i := s.Part.At(k)
	if s.Operations > 0 && i >= s.Operations {
		c.taken.Add(^uint64(0))
		c.ended.Store(true)
		return 0, 0, false
	}
	return s.First + i, -1, true
}

// takeGiven is take for a stage with Numbers.
func (c *closedSource) takeGiven(ctx context.Context) (uint64, int64, bool) {
	for c.open() {
		switch k, what := c.stage.Numbers.Take(c.pool.cfg.Clock.Now()); what {
		case schedule.Took:
			return c.stage.First + k, -1, true
		case schedule.None:
			c.ended.Store(true)
			return 0, 0, false
		}
		if !protocol.Sleep(ctx, lookAgain) {
			break
		}
	}
	return 0, 0, false
}

// lookAgain is the pause before a look for operations that should have been given, or for lost machines.
const lookAgain = time.Millisecond

// feed has further sessions take part when other machines are lost.
func (c *closedSource) feed(ctx context.Context) {
	if c.stage.Part.Shared == nil {
		return
	}
	for c.open() && !(c.stage.Numbers != nil && c.stage.Numbers.Over()) && protocol.Sleep(ctx, 10*lookAgain) {
		c.pool.inherit()
	}
}

func (c *closedSource) yieldLost(s *session) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it isn't to wait
	i, _, ok := c.take(ctx, s)
	if ok {
		c.pool.fail(c, s, i, c.pool.cfg.Clock.Now())
	}
	return ok || c.open()
}

func (c *closedSource) open() bool {
	if c.ended.Load() {
		return false
	}
	d := c.stage.DurationNs
	return d == 0 || c.pool.cfg.Clock.Now()-c.stage.StartNs < d
}

func (c *closedSource) arrivals() bool { return false }

func (c *closedSource) took() {}

func (c *closedSource) due(int64) (uint64, uint64) { return 0, 0 }

func (c *closedSource) next() uint64 {
	if n := c.stage.Operations; n > 0 && c.stage.DurationNs == 0 {
		return c.stage.First + n
	}
	return c.stage.First + c.stage.Part.After(c.taken.Load())
}
