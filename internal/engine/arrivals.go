package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/driver"
	"brunt/internal/measure"
	"brunt/internal/schedule"
)

// arrival is an operation and its intended start on the run's clock.
type arrival struct {
	i        uint64
	intended int64
}

// arrivalSource follows a schedule whatever the server does. One thread sleeps until each
// intended start and hands the arrival to a free session; while none is free only the head of the
// queue is held, because the rest can be computed again: memory doesn't grow with the backlog.
type arrivalSource struct {
	pool   *Pool
	stage  schedule.Stage
	out    chan arrival
	closed chan struct{}
	once   sync.Once
	taken  atomic.Uint64 // arrivals handed out, failed or dropped
	idle   atomic.Int64  // sessions that wait for an arrival
	handed int64         // when the last arrival was done with; feed's own

	mu    sync.Mutex // guards what follows, used by due only
	count *schedule.Arrivals
	ahead int64 // the first arrival that isn't due yet; −1 after the last
	fell  uint64
	index uint64
}

func newArrivals(p *Pool, stage schedule.Stage) *arrivalSource {
	a := &arrivalSource{
		pool: p, stage: stage,
		out:    make(chan arrival),
		closed: make(chan struct{}),
		count:  stage.Shape.Arrivals(stage.Process, stage.Seed),
		ahead:  -2,
	}
	return a
}

func (a *arrivalSource) take(ctx context.Context) (uint64, int64, bool) {
	a.idle.Add(1)
	defer a.idle.Add(-1)
	select {
	case x := <-a.out:
		return x.i, x.intended, true
	case <-a.closed:
		return 0, 0, false
	case <-ctx.Done():
		return 0, 0, false
	}
}

// feed hands out the arrivals in order. It owns an OS thread so that it wakes when it asked to.
func (a *arrivalSource) feed(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer a.once.Do(func() { close(a.closed) })
	w := newWaker()
	cfg := &a.pool.cfg
	end := a.stage.StartNs + a.stage.Shape.DurationNs() + int64(cfg.OperationTimeout)
	it := a.stage.Shape.Arrivals(a.stage.Process, a.stage.Seed)
	for n := uint64(0); ; n++ {
		at, ok := it.Next()
		if !ok {
			return
		}
		if n%a.stage.Stride != a.stage.Offset {
			continue
		}
		x := arrival{i: a.stage.First + n, intended: a.stage.StartNs + at}
		if !w.until(ctx, cfg.Clock, x.intended, int64(cfg.Spin)) {
			return
		}
		if !a.hand(ctx, x, end) {
			return
		}
		a.handed = cfg.Clock.Now()
	}
}

// hand gives x to a session, or accounts for it in another way. It returns false if ctx ended.
func (a *arrivalSource) hand(ctx context.Context, x arrival, end int64) bool {
	cfg := &a.pool.cfg
	if a.pool.refused() {
		a.fail(x)
		return true
	}
	if now := cfg.Clock.Now(); cfg.DropLate && cfg.DropAfter > 0 && now-x.intended > int64(cfg.DropAfter) {
		if a.idle.Load() > 0 {
			a.pool.shared[0].Do(func(r *measure.Recorder) { r.OwnLag(now - max(x.intended, a.handed)) })
		}
		why := measure.UnsentNoSession
		if a.idle.Load() > 0 {
			why = measure.UnsentGenerator
		}
		a.drop(x.i, why)
		return true
	}
	select {
	case a.out <- x:
		a.taken.Add(1)
		return true
	default:
	}
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		now := cfg.Clock.Now()
		switch {
		case a.pool.refused():
			a.fail(x)
			return true
		case cfg.DropLate && now-x.intended >= int64(cfg.DropAfter), now > end && a.pool.connected.Load() > 0:
			a.drop(x.i, measure.UnsentNoSession)
			return true
		case now > end, a.pool.lost() && now-x.intended > int64(cfg.OperationTimeout):
			a.fail(x)
			return true
		}
		wait := 10 * time.Millisecond
		if cfg.DropLate {
			wait = min(wait, time.Duration(x.intended-now)+cfg.DropAfter)
		}
		tick.Reset(wait)
		select {
		case a.out <- x:
			a.taken.Add(1)
			return true
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// fail counts an arrival that can't be sent because nothing is connected.
func (a *arrivalSource) fail(x arrival) {
	a.pool.giveUp(a, a.pool.sessions[int(x.i%uint64(len(a.pool.sessions)))], x.i, x.intended)
	a.taken.Add(1)
}

func (a *arrivalSource) drop(i uint64, why measure.Unsent) {
	operation := a.pool.cfg.Workload.Pick(i)
	a.pool.shared[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, why, 1) })
	if done := a.pool.cfg.Workload.Done; done != nil {
		done(operation, i, driver.Client)
	}
	a.taken.Add(1)
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

func (a *arrivalSource) due(now int64, final bool) (fell, backlog uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.fell
	now -= a.stage.StartNs
	for a.ahead != -1 && a.ahead <= now {
		if a.ahead != -2 {
			a.fell++
		}
		a.ahead = a.advance()
	}
	taken := a.taken.Load()
	if !final && a.fell > taken {
		backlog = a.fell - taken
	}
	return a.fell - before, backlog
}

// advance returns the next of this machine's arrivals, or −1.
func (a *arrivalSource) advance() int64 {
	for {
		at, ok := a.count.Next()
		if !ok {
			return -1
		}
		a.index++
		if (a.index-1)%a.stage.Stride == a.stage.Offset {
			return at
		}
	}
}

func (a *arrivalSource) next() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stage.First + max(a.index, a.taken.Load()*a.stage.Stride)
}
