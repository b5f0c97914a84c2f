package pool

import (
	"context"
	"math"
	"runtime"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// arrival is an operation and its intended start on the run's clock.
type arrival struct {
	i        uint64
	intended int64
}

// arrivalSource follows a schedule that does not depend on the server. One thread sleeps until each intended start and
// hands the arrival to a free session. While no session is free, only the head of the queue is kept, because the rest
// can be computed again: memory doesn't grow with the backlog.
type arrivalSource struct {
	pool   *Pool
	stage  schedule.Stage
	turns  turns
	out    chan arrival // to any session
	closed chan struct{}
	handed int64          // when the last arrival was handled; used by feed only
	grewAt int64          // when a further session was last connected
	work   func(*session) // adds a further session to the stage; nil if the pool doesn't grow

	sending schedule.PartArrivals // the next arrival to hand out; used by feed only

	// Guarded by the pool's account.
	ahead schedule.PartArrivals // the first arrival that has not been counted as due
	fell  uint64                // arrivals counted as due
	taken uint64                // of these, handed out or given up
	end   int64                 // no arrival falls due later
}

func newArrivals(p *Pool, stage schedule.Stage) *arrivalSource {
	a := &arrivalSource{pool: p, stage: stage, out: make(chan arrival), closed: make(chan struct{}), end: never}
	a.turns = newTurns(p.cfg.Nodes.Cap())
	a.ahead, a.sending = stage.Arrivals(stage.Part.Worker(0, 1), math.MaxUint64)
	return a
}

func (a *arrivalSource) take(ctx context.Context, s *session) (uint64, int64, bool) {
	q := a.turns.of(s)
	q.idle.Add(1)
	defer q.idle.Add(-1)
	select {
	case x := <-q.out:
		return x.i, x.intended, true
	case x := <-a.out:
		return x.i, x.intended, true
	case <-a.closed:
		return 0, 0, false
	case <-ctx.Done():
		return 0, 0, false
	}
}

// feed hands out the arrivals in order. It owns an OS thread, so that it wakes exactly when it asked to. Arrivals that
// are due and not handed out when ctx ends are given up.
func (a *arrivalSource) feed(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(a.closed)
	sleepPrecisely()
	cfg := &a.pool.cfg
	next := &a.sending
	for ; a.known(ctx, next) && !next.Over; next.Advance() {
		a.pool.inherit()
		if !a.until(ctx, next.IntendedNs, int64(cfg.Spin)) ||
			!a.hand(ctx, arrival{a.stage.First + next.Number, next.IntendedNs}) {
			break
		}
		a.handed = cfg.Clock.Now()
	}
	end := cfg.Clock.Now()
	a.pool.account.Do(func(*measure.Recorder) { a.end = end })
	for ; next.Known() && !next.Over && next.IntendedNs <= end; next.Advance() {
		a.giveUp(arrival{a.stage.First + next.Number, next.IntendedNs}, measure.UnsentLoadOver)
	}
}

// known waits until the next arrival is known. It returns false if ctx ends first.
func (a *arrivalSource) known(ctx context.Context, next *schedule.PartArrivals) bool {
	clock := a.pool.cfg.Clock
	for !next.Known() {
		if !a.until(ctx, max(next.IntendedNs, clock.Now()+int64(time.Millisecond)), 0) {
			return false
		}
	}
	return true
}

// until sleeps until the time at on the run's clock. It returns true then, or false if ctx has ended. It busy-waits for
// the last spin nanoseconds.
func (a *arrivalSource) until(ctx context.Context, at, spin int64) bool {
	for ctx.Err() == nil {
		left := at - a.pool.cfg.Clock.Now()
		if left <= 0 {
			return true
		}
		if left > spin {
			rest(ctx, left-spin)
		}
	}
	return false
}

// hand passes x to a session, or counts it otherwise. It returns false if ctx ended.
func (a *arrivalSource) hand(ctx context.Context, x arrival) bool {
	cfg := &a.pool.cfg
	now, last := cfg.Clock.Now(), a.lastSend(x)
	if now > last && (!cfg.DropLate || cfg.DropAfter > 0) && !a.pool.refused() {
		a.giveUpLate(x, now, last, a.turns.idle())
		return true
	}
	var tick *time.Timer
	for {
		if a.pool.refused() {
			a.fail(x)
			return true
		}
		if a.turns.hand(x) {
			return true
		}
		now := cfg.Clock.Now()
		switch lag := time.Duration(now - x.intended); {
		case lag > cfg.OperationTimeout && a.pool.lost() && !(cfg.DropLate && lag >= cfg.DropAfter):
			a.fail(x)
			return true
		case now >= last:
			a.giveUpLate(x, now, last, false)
			return true
		}
		a.grow(now)
		wait := min(10*time.Millisecond, time.Duration(last-now))
		if tick == nil {
			tick = time.NewTimer(wait)
			defer tick.Stop()
		} else {
			tick.Reset(wait)
		}
		select {
		case a.out <- x:
			return true
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// lastSend returns until when an arrival may be sent.
func (a *arrivalSource) lastSend(x arrival) int64 {
	cfg := &a.pool.cfg
	last := a.stage.StartNs + a.stage.Shape.DurationNs() + int64(cfg.Overtime())
	if cfg.DropLate {
		last = min(last, x.intended+int64(cfg.DropAfter))
	}
	return last
}

// giveUpLate gives up an arrival that wasn't sent in time. The generator is the cause if a session is free, and the
// previous arrival was handled before this one was too late.
func (a *arrivalSource) giveUpLate(x arrival, now, last int64, free bool) {
	why := measure.UnsentNoSession
	switch {
	case a.pool.connected.Load() == 0:
		why = measure.UnsentNoConnection
	case free && a.handed <= last:
		why = measure.UnsentGenerator
		a.pool.account.Do(func(r *measure.Recorder) { r.OwnLag(now - max(x.intended, a.handed)) })
	}
	a.giveUp(x, why)
}

// fail counts an arrival that can't be sent because nothing is connected.
func (a *arrivalSource) fail(x arrival) {
	a.pool.fail(a, a.pool.sessions[int(x.i%uint64(len(a.pool.sessions)))], x.i, x.intended)
}

func (a *arrivalSource) giveUp(x arrival, why measure.Unsent) {
	operation, now := a.pool.cfg.Workload.Pick(x.i), a.pool.cfg.Clock.Now()
	a.pool.account.Do(func(r *measure.Recorder) {
		a.pool.reach(r, x.intended)
		r.GiveUpAt(operation, why, x.intended, now)
		a.took()
	})
	if unsent := a.pool.cfg.Workload.Unsent; unsent != nil {
		unsent(operation, x.i, x.intended, why != measure.UnsentLoadOver)
	}
	if done := a.pool.cfg.Workload.Done; done != nil {
		done(operation, x.i, protocol.Client)
	}
}

// yieldLost: feed itself fails the arrivals of an open load while nothing is connected.
func (a *arrivalSource) yieldLost(*session) bool { return a.open() }

func (a *arrivalSource) open() bool {
	select {
	case <-a.closed:
		return false
	default:
		return true
	}
}

func (a *arrivalSource) arrivals() bool { return true }

func (a *arrivalSource) took() { a.taken++ }

func (a *arrivalSource) due(now int64) (fell, backlog uint64) {
	before := a.fell
	for now = min(now, a.end); a.ahead.Known() && !a.ahead.Over && a.ahead.IntendedNs <= now; a.ahead.Advance() {
		a.fell++
	}
	return a.fell - before, a.fell - a.taken
}

func (a *arrivalSource) next() uint64 {
	if a.stage.Part.Shared != nil { // then some of the arrivals taken belong to other parts
		return a.stage.First + a.ahead.Drawn
	}
	return a.stage.First + max(a.ahead.Drawn, a.stage.Part.After(a.taken))
}
