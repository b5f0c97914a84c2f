// Package pool drives sessions by goroutines, one per session, over client libraries or any other blocking connection.
// It provides the fleet for protocols without a codec, and for systems without event loops.
package pool

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// dialsAtOnce limits how many sessions connect at the same time, so that a large fleet doesn't overflow the server's
// accept queue.
const dialsAtOnce = 32

// Pool is the library tier's fleet, with one goroutine per session.
type Pool struct {
	cfg      engine.FleetConfig
	sessions []*session
	route    balance.Route

	// account is one recorder for all sessions, so that operations in flight, arrivals that fell due and samples are of
	// the same moment at the end of an interval. Its mutex guards the following fields.
	account   *measure.Shared
	source    source             // of the current stage; nil between stages
	phaseEnds schedule.PhaseEnds // of the current stage, those not reached
	inFlight  int                // operations

	up        []atomic.Int64 // connected sessions by address
	connected atomic.Int64   // connected sessions in all
	uptimeMu  sync.Mutex
	uptime    engine.Uptime // of connections
	refusing  []atomic.Bool // addresses that refused the last attempt to connect, or have no session
	downSince atomic.Int64  // when the last session was lost, on the run's clock

	crew crew // of the current stage; used by the goroutine of Run

	changes atomic.Uint64 // of the nodes; used with a balancer

	growth  engine.Growth
	growing atomic.Int64 // sessions being connected because arrivals wait
	closed  atomic.Int64 // connections that the server has closed since arrivals last waited
	growAt  atomic.Int64 // no further session is connected before this time, on the run's clock
	lostAt  atomic.Int64 // when a working session was lost, on the run's clock

	lingering sync.WaitGroup // what closed connections still do
}

var (
	_ engine.Fleet   = (*Pool)(nil)
	_ engine.Growing = (*Pool)(nil)
)

// NewPool returns a fleet that isn't connected yet. It fails if the configuration is invalid.
func NewPool(cfg engine.FleetConfig) (*Pool, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	route := cfg.NewRoute()
	p := &Pool{
		cfg: cfg, route: route,
		up: make([]atomic.Int64, cfg.Nodes.Cap()), refusing: make([]atomic.Bool, cfg.Nodes.Cap()),
	}
	cfg.Nodes.OnChange(p.change)
	p.lostAt.Store(-outageNs)
	for i := range p.refusing {
		p.refusing[i].Store(true)
	}
	p.account = cfg.Collector.NewShared()
	p.account.Tell(p.tell)
	for i := range cfg.Sessions {
		p.sessions = append(p.sessions, &session{
			pool:    p,
			number:  i,
			cursor:  cfg.NewCursor(i),
			address: p.route.Home(i),
			backoff: engine.NewBackoff(uint64(cfg.Clock.Now()), uint64(i)),
		})
		if cfg.Spare(i) {
			p.sessions[i].spare.Store(true)
			continue
		}
		p.growth.Wake(1)
		p.refusing[p.sessions[i].address].Store(false)
	}
	return p, nil
}

// Connect opens all sessions; see engine.Fleet.
func (p *Pool) Connect(ctx context.Context) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	slots := make(chan struct{}, dialsAtOnce)
	for _, s := range p.sessions {
		if s.spare.Load() {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := s.dial(ctx); err != nil {
				mu.Lock()
				first = cmp.Or(first, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if p.connected.Load() == 0 {
		return first
	}
	return nil
}

// change assigns sessions to other addresses after the nodes have changed. Sessions notice before their next operation,
// or at once if sessions of leaving nodes are dropped.
func (p *Pool) change(changes []protocol.Change) {
	if p.spread() {
		p.changes.Add(1)
	} else if !p.route.Driven() {
		p.route.Move(changes)
	}
	if !p.cfg.DropLeaving {
		return
	}
	for _, s := range p.sessions {
		s.drop()
	}
}

// spread reports whether each session has connections to all nodes, among which a balancer chooses.
func (p *Pool) spread() bool { return p.route.Balancer() != nil && !p.route.Driven() }

// Close closes all sessions.
func (p *Pool) Close() {
	for _, s := range p.sessions {
		s.hangUp()
	}
	p.lingering.Wait()
}

// close closes a connection. Close waits until the server has been asked to stop what it does for it.
func (p *Pool) close(c protocol.Conn) {
	c.Close()
	if lingers := protocol.Lingers(c); lingers != nil {
		p.lingering.Go(func() { <-lingers })
	}
}

// Run executes one stage; see engine.Fleet.
func (p *Pool) Run(ctx context.Context, hard <-chan struct{}, stage schedule.Stage) (uint64, error) {
	hardCtx, cancel := protocol.Until(context.WithoutCancel(ctx), hard)
	defer cancel()
	src := p.newSource(stage)
	p.account.Do(func(*measure.Recorder) { p.source, p.phaseEnds = src, stage.PhaseEnds })
	p.takeUptime() // the time before doesn't count
	var wg sync.WaitGroup
	work := func(s *session) { wg.Go(func() { s.work(ctx, hardCtx, src) }) }
	p.crew = crew{stage: stage, work: work}
	p.engage()
	if a, ok := src.(*arrivalSource); ok && p.cfg.Grows() {
		a.work = work
	}
	src.feed(ctx)
	wg.Wait()
	p.account.Do(func(r *measure.Recorder) {
		p.tell(r)
		p.source, p.phaseEnds = nil, nil
	})
	return src.next(), nil
}

// crew is who takes part in a stage.
type crew struct {
	stage  schedule.Stage
	work   func(*session)
	first  int // session that doesn't take part yet
	losses int // with Part.Shared: how many the others are for
}

// engage has sessions take part in the stage, more than before if other machines were lost. Those that were on standby
// connect. It is called by the goroutine of Run only.
func (p *Pool) engage() {
	c := &p.crew
	if c.stage.Part.Shared != nil {
		c.losses = c.stage.Part.Shared.Losses()
	}
	most := c.stage.ActiveSessions()
	if most <= 0 || most > len(p.sessions) || c.stage.Open() && c.stage.Part.Shared == nil {
		most = len(p.sessions)
	}
	for ; c.first < most; c.first++ {
		s := p.sessions[c.first]
		if s.spare.Load() && !p.cfg.Grows() {
			s.spare.Store(false)
			p.growth.Wake(1)
		}
		if !s.spare.Load() {
			c.work(s)
		}
	}
}

// inherit has further sessions take part when another machine was lost.
func (p *Pool) inherit() {
	if shared := p.crew.stage.Part.Shared; shared != nil && shared.Losses() != p.crew.losses {
		p.engage()
	}
}

// connect counts n further connections to an address, or −n fewer.
func (p *Pool) connect(address, n int) {
	p.up[address].Add(int64(n))
	p.uptimeMu.Lock()
	defer p.uptimeMu.Unlock()
	p.uptime.Add(n, p.cfg.Clock.Now())
}

func (p *Pool) takeUptime() (upNs float64, spanNs int64) {
	p.uptimeMu.Lock()
	defer p.uptimeMu.Unlock()
	return p.uptime.Take(p.cfg.Clock.Now())
}

// tell passes the pool's current state to the recorder.
func (p *Pool) tell(r *measure.Recorder) {
	now := p.cfg.Clock.Now()
	p.reach(r, now)
	p.tellOf(r, now)
}

// reach begins the phases of the current stage that have begun by now, before arrivals of theirs are recorded.
func (p *Pool) reach(r *measure.Recorder, now int64) {
	if p.source == nil {
		return
	}
	for at, ok := p.phaseEnds.Pass(now); ok; at, ok = p.phaseEnds.Pass(now) {
		backlog := p.tellOf(r, at-1)
		r.NextPhase(at, backlog+uint64(p.inFlight))
	}
}

// tellOf passes the pool's state, and the arrivals that have fallen due by now, to the recorder. It returns how many of
// them have not begun.
func (p *Pool) tellOf(r *measure.Recorder, now int64) (backlog uint64) {
	if p.source != nil {
		var fell uint64
		if fell, backlog = p.source.due(now); fell > 0 {
			r.Offer(fell)
		}
	}
	up := make([]int, len(p.up))
	for i := range p.up {
		up[i] = int(p.up[i].Load())
	}
	r.SetGauges(up, p.inFlight, backlog, 0)
	r.SetUp(p.takeUptime())
	return backlog
}

// lost reports whether no session is connected and none should be waited for, because every address refused the last
// attempt, or because nothing has been connected for the operation timeout.
func (p *Pool) lost() bool {
	if p.connected.Load() > 0 {
		return false
	}
	return p.refused() || p.cfg.Clock.Now()-p.downSince.Load() > int64(p.cfg.OperationTimeout)
}

// refused reports whether nothing is connected and every address refused the last attempt, unless the plan says to
// wait.
func (p *Pool) refused() bool {
	if p.cfg.OutageWait || p.connected.Load() > 0 {
		return false
	}
	for i := range p.refusing {
		if !p.refusing[i].Load() {
			return false
		}
	}
	return true
}

// fail counts an operation that can't be sent because no address can be reached.
func (p *Pool) fail(src source, s *session, i uint64, intended int64) {
	var sample measure.Sample
	p.cfg.Unconnected(&sample, i, s.address, src.arrivals(), intended, p.cfg.Clock.Now())
	p.account.Do(func(r *measure.Recorder) {
		p.reach(r, intended)
		src.took()
		r.Record(&sample)
	})
	p.cfg.ReportUnconnected(&sample, i)
}

func (p *Pool) report(e engine.ErrorEvent) {
	if p.cfg.OnError != nil {
		p.cfg.OnError(e)
	}
}
