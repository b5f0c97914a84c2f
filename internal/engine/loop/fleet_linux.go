package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
	"brunt/internal/render/message"

	"golang.org/x/sys/unix"
)

// Fleet is the codec tier's engine.Fleet: event loops over the sockets of a protocol's sessions.
type Fleet struct {
	cfg      engine.FleetConfig
	protocol protocol.CodecDriver
	route    balance.Route
	stale    chan struct{} // holds a token if the router should refresh; nil without a router
	loops    []*loop
	recorder func() recorder

	ctx     context.Context // ends when the fleet is closed
	cancel  context.CancelFunc
	dialing chan struct{} // a slot for each concurrent attempt to connect
	dialers sync.WaitGroup
	running sync.WaitGroup
	growth  engine.Growth
	stamper int // a socket that keeps kernel timestamps on
	started bool
	once    sync.Once
}

var (
	_ engine.Fleet   = (*Fleet)(nil)
	_ engine.Growing = (*Fleet)(nil)
)

// Supported reports whether event loops run on this system.
const Supported = true

// NewFleet returns a fleet that isn't connected yet. It fails if the configuration is invalid, or if the system refuses
// a resource that an event loop needs.
//
// Requests are pipelined only if every operation of the workload is a single request, because a
// session can't do anything else during a transaction.
func NewFleet(cfg engine.FleetConfig, p protocol.CodecDriver) (*Fleet, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if cfg.RetryErrors && cfg.Retries > 0 {
		return nil, errors.New("retrying every failure (retry_errors) needs the library tier")
	}
	for i := range cfg.Workload.Operations {
		if len(cfg.Workload.Operations[i].Steps) > 1 {
			cfg.Pipeline = 1
		}
	}
	cfg.Driver = p
	route := cfg.NewRoute()
	f := &Fleet{cfg: cfg, protocol: p, route: route, dialing: make(chan struct{}, dialsAtOnce), stamper: -1}
	if !cfg.ClosedOnly {
		f.stamper = keepStamping()
	}
	f.recorder = func() recorder { return cfg.Collector.NewRecorder() }
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if f.route.Router() != nil {
		f.stale = make(chan struct{}, 1)
	}
	for i := range loopCount(&cfg, runtime.NumCPU()) {
		l, err := f.newLoop(i)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.loops = append(f.loops, l)
	}
	f.distribute()
	return f, nil
}

func (f *Fleet) newLoop(i int) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &loop{
		fleet:     f,
		cfg:       &f.cfg,
		work:      f.cfg.Workload,
		io:        sockets{poller: p, kernel: kernelTime{clock: f.cfg.Clock}, buffer: make([]byte, readBytes)},
		router:    f.route.Router(),
		balancer:  f.route.Balancer(),
		deadlines: deadlines{timeout: int64(f.cfg.OperationTimeout)},
		backoff:   engine.NewBackoff(uint64(f.cfg.Clock.Now()), uint64(i)),
		timing:    newTiming(&f.cfg),
		conns:     newConnectivity(f.cfg.Nodes.Cap()),
		available: available{queues: make([]queue, f.cfg.Nodes.Cap())},
		growing:   newGrowing(),
	}, nil
}

// distribute assigns workers and their sessions to the loops.
func (f *Fleet) distribute() {
	perWorker := 1
	if f.route.Router() != nil {
		perWorker = f.cfg.Nodes.Cap()
	}
	owner := spread(&f.cfg, &f.route, len(f.loops))
	n := make([]int, len(f.loops))
	for _, loop := range owner {
		n[loop]++
	}
	for i, l := range f.loops {
		l.workers = make([]worker, n[i])[:0]
		l.sessions = make([]session, 0, n[i]*perWorker)
		l.io.more = make([]*session, 0, n[i]*perWorker)
		l.io.dirty = make([]*session, 0, n[i]*perWorker)
		l.timers = newTimers(n[i] * f.cfg.Pipeline)
	}
	for id, loop := range owner {
		l := f.loops[loop]
		l.workers = l.workers[:len(l.workers)+1]
		a := &l.workers[len(l.workers)-1]
		a.init(id, &f.cfg)
		if f.route.Balancer() != nil {
			a.reach = balance.NewSet(f.cfg.Nodes.Cap())
		}
		for address := range perWorker {
			if perWorker == 1 {
				address = f.route.Home(id)
			}
			l.sessions = append(l.sessions, session{worker: a, slot: len(l.sessions), address: address, fd: -1})
			a.sessions = append(a.sessions, &l.sessions[len(l.sessions)-1])
		}
		if a.spare = f.cfg.Spare(id); !a.spare {
			f.growth.Wake(1)
		}
	}
}

// Connect starts the loops and opens all sessions; see engine.Fleet. It may be called once.
func (f *Fleet) Connect(ctx context.Context) error {
	if f.started {
		return errors.New("connect a fleet: it was connected before")
	}
	f.started = true
	reserveProcs(len(f.loops))
	if r := f.route.Router(); r != nil {
		if err := r.Refresh(ctx); err != nil {
			return err
		}
		f.dialers.Go(f.refresh)
	}
	f.cfg.Nodes.OnChange(f.change)
	outcomes := make(chan *protocol.Error, f.cfg.Nodes.Cap()*f.cfg.Sessions)
	dials := 0
	for _, l := range f.loops {
		l.rec = f.recorder()
		for i := range l.sessions {
			s := &l.sessions[i]
			if s.dialing = !s.worker.spare && f.serves(s.address); !s.dialing {
				continue
			}
			dials++
			l.conns.refusing[s.address] = false
			f.dialers.Go(func() {
				f.dialUntil(l, s.worker.id, s.slot, s.address, 0, func(err *protocol.Error) { outcomes <- err })
			})
		}
		f.running.Go(l.run)
	}
	return f.firstDials(ctx, dials, outcomes)
}

// firstDials waits until every session has tried to connect once. It fails if none succeeded.
func (f *Fleet) firstDials(ctx context.Context, dials int, outcomes <-chan *protocol.Error) error {
	var first *protocol.Error
	connected := 0
	for range dials {
		select {
		case err := <-outcomes:
			if err == nil {
				connected++
			} else if first == nil {
				first = err
			}
		case <-ctx.Done():
			return fmt.Errorf("connect: %w", ctx.Err())
		}
	}
	if connected > 0 {
		return nil
	}
	if first == nil {
		return errors.New("connect: no address serves any request; is the cluster complete?")
	}
	return first
}

// Run executes one stage; see engine.Fleet. It fails only if a loop can't continue, or if the fleet isn't connected.
func (f *Fleet) Run(ctx context.Context, hard <-chan struct{}, stage schedule.Stage) (uint64, error) {
	if !f.started {
		return stage.First, errors.New("run a stage: the fleet isn't connected")
	}
	members := f.members(&stage)
	finished := make(chan *stagePart, len(members))
	for i, l := range members {
		p := newStagePart(stage, i, len(members), f.cfg.Workload.Total, finished)
		if !l.mailbox.put(loopMessage{kind: start, stage: p}) {
			finished <- p
			continue
		}
		l.io.poller.ring()
	}
	var reached, passed uint64
	whole := true
	done := ctx.Done()
	for left := len(members); left > 0; {
		select {
		case p := <-finished:
			left--
			reached = max(reached, p.reached)
			passed = max(passed, p.ahead.Drawn)
			whole = whole && p.whole()
		case <-done:
			f.tell(members, stop)
			done = nil
		case <-hard:
			f.tell(members, abort)
			hard = nil
		}
	}
	// The first operation that a following stage may use is the same on every machine if the stage was executed
	// completely.
	if whole {
		return stage.First + max(passed, stage.Operations), f.broken()
	}
	return stage.First + stage.Part.Round(reached), f.broken()
}

// members returns the loops that have workers for a stage.
func (f *Fleet) members(stage *schedule.Stage) []*loop {
	if stage.Open() || stage.Sessions <= 0 || stage.Part.Shared != nil {
		return f.loops
	}
	var members []*loop
	for _, l := range f.loops {
		if l.workers[0].id < stage.Sessions {
			members = append(members, l)
		}
	}
	return members
}

func (f *Fleet) tell(members []*loop, kind messageKind) {
	for _, l := range members {
		if l.mailbox.put(loopMessage{kind: kind}) {
			l.io.poller.ring()
		}
	}
}

// broken returns the error of a loop that had to end, or nil.
func (f *Fleet) broken() error {
	for _, l := range f.loops {
		if err := l.thread.failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// Close closes all sessions and ends the loops. It is safe to call twice.
func (f *Fleet) Close() {
	f.once.Do(func() {
		f.cancel()
		if f.started {
			f.tell(f.loops, quit)
			f.running.Wait()
		}
		f.dialers.Wait()
		if f.stamper >= 0 {
			unix.Close(f.stamper)
		}
		for _, l := range f.loops {
			l.io.poller.close()
		}
	})
}

// Timing describes for people how the fleet keeps time.
func (f *Fleet) Timing() message.Message {
	how := []message.Message{message.Literal("epoll_pwait2")}
	if f.loops[0].io.poller.timerOnly {
		how[0] = message.New("timing.timerfd")
	}
	if f.cfg.ClosedOnly {
		how = append(how, message.New("timing.closed"))
	} else {
		how = append(how, message.New("timing.open"))
	}
	if f.route.Router() != nil {
		how = append(how, message.New("timing.routed"))
	}
	if f.cfg.TimingTolerance > 0 {
		how = append(how, message.New("timing.tolerance", message.Span("tolerance", f.cfg.TimingTolerance)))
	}
	if f.cfg.Spin > 0 {
		how = append(how, message.New("timing.spin", message.Span("spin", f.cfg.Spin)))
	}
	return message.Sentences(how...)
}
