package pool

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// session is one connection and the goroutine that uses it.
type session struct {
	pool    *Pool
	address int

	conn     protocol.Conn // nil while there is none
	many     *many         // conn, if it consists of connections to all nodes
	cut      atomic.Pointer[underway]
	spare    atomic.Bool // it isn't needed now: see Pool.grow
	number   int         // in the pool
	further  atomic.Bool // it is being connected because arrivals wait
	crowded  bool        // its connection was lost before it returned an answer, and others were not
	served   bool        // the current connection has returned an answer
	failures int         // attempts to connect that have failed in a row
	backoff  engine.Backoff
	// stateless says that requests don't depend on the connection of the operation's earlier ones.
	stateless bool
	before    bool  // it has been connected before
	behind    int64 // see measure.Sample
	unsent    int   // how often the operation timed out before it was sent; begun once something was sent
	hasty     bool  // how long the server may be silent is limited
	freeAt    int64 // when it became free to take an operation, on the run's clock; 0 if unknown
	cursor    workload.Cursor
	reply     protocol.Reply
	sample    measure.Sample
}

// dial connects. The failure is reported and returned.
func (s *session) dial(ctx context.Context) error {
	p := s.pool
	if p.spread() {
		return s.dialMany(ctx)
	}
	conn, err := p.dial(ctx, s.address)
	if err != nil && s.further.Load() {
		return err // the load can do without a further session
	}
	if err != nil {
		s.failures++
		p.refusing[s.address].Store(true)
		e := protocol.AsError(err)
		if ctx.Err() == nil {
			p.cfg.Refused(s.address, e)
		}
		return e
	}
	s.conn, s.stateless = conn, protocol.IsStateless(conn)
	s.failures, s.served = 0, false
	p.refusing[s.address].Store(false)
	p.connect(s.address, 1)
	p.connected.Add(1)
	if s.before {
		s.pool.account.Do(func(r *measure.Recorder) { r.Reconnect(s.address) })
	}
	s.before = true
	return nil
}

// dial makes one attempt to connect to an address.
func (p *Pool) dial(ctx context.Context, address int) (protocol.Conn, error) {
	ctx, cancel := p.cfg.Connecting(ctx, address)
	defer cancel()
	began := p.cfg.Clock.Now()
	conn, err := p.cfg.Driver.Dial(ctx, p.cfg.Nodes.At(address), &p.cfg.Workload.Program)
	if err != nil {
		return nil, err
	}
	p.cfg.Dialed(address, p.cfg.Clock.Now()-began)
	return conn, nil
}

// hangUp closes the connection, if any.
func (s *session) hangUp() {
	if s.many != nil {
		s.many.Close()
		s.conn, s.many = nil, nil
	}
	if s.conn == nil {
		return
	}
	s.pool.close(s.conn)
	s.conn = nil
	s.pool.refusing[s.address].Store(false)
	s.pool.connect(s.address, -1)
	if s.pool.connected.Add(-1) == 0 {
		s.pool.downSince.Store(s.pool.cfg.Clock.Now())
	}
}

// ready connects the session if it isn't connected. It makes at most one attempt, after a pause if the last attempt
// failed.
func (s *session) ready(ctx context.Context) bool {
	if s.many != nil {
		return s.many.ready(ctx)
	}
	s.leaveAddress()
	if s.conn != nil {
		return true
	}
	return s.backOff(ctx) && s.dial(ctx) == nil
}

// backOff pauses after failures to connect; it returns false if ctx ended first.
func (s *session) backOff(ctx context.Context) bool {
	return s.failures == 0 || protocol.Sleep(ctx, s.backoff.Reconnect(s.failures))
}

// work executes operations from src until there are none.
func (s *session) work(ctx, hard context.Context, src source) {
	s.freeAt, s.behind = 0, 0
	for ctx.Err() == nil {
		if s.conn == nil {
			s.freeAt, s.behind = 0, 0
		}
		if s.crowded && s.crowdedOut(ctx) {
			return
		}
		if !s.ready(ctx) {
			if s.crowdedOut(ctx) {
				return
			}
			if ctx.Err() != nil || !src.open() || s.pool.lost() && !src.yieldLost(s) {
				return
			}
			continue
		}
		s.grown()
		if s.freeAt == 0 {
			s.freeAt = max(s.pool.cfg.Clock.Now(), 1)
		}
		if !src.arrivals() && !s.wait(ctx, src) {
			return
		}
		i, intended, ok := src.take(ctx, s)
		if !ok {
			return
		}
		s.fresh(ctx)
		s.execute(hard, src, i, intended)
		s.freeAt, s.behind = s.sample.End, s.sample.Carry()
		if s.cursor.Quits() {
			s.quits()
			return
		}
		if s.pool.cfg.Reconnect || s.cursor.Renews() {
			s.hangUp()
			s.before = false // it was to end
		}
		if src.arrivals() {
			continue
		}
		s.unconnected(ctx)
		if d := s.cursor.Rest(); d > 0 {
			protocol.Sleep(ctx, d)
			s.freeAt += int64(d)
		}
	}
}

// wait pauses as long as the session's script says. It returns false if the session takes no further operations.
func (s *session) wait(ctx context.Context, src source) bool {
	for src.open() {
		pause, quit := s.cursor.Wait()
		if quit {
			s.quits()
			return false
		}
		if pause == 0 {
			break
		}
		if !protocol.Sleep(ctx, pause) {
			return false
		}
		s.freeAt = max(s.pool.cfg.Clock.Now(), 1)
	}
	return true
}

// quits counts the session if it takes no further operations because of a failure.
func (s *session) quits() {
	if s.cursor.TakeAborted() {
		s.pool.account.Do(func(r *measure.Recorder) { r.Abort(s.cursor.Operation) })
	}
}

// fresh makes sure that the session's connection can be used for the operation that it has taken: the session may have
// got another address while it waited, or the server may have closed the connection. The time to connect is time
// without a free session. If connecting fails, the operation fails, unless it is to wait for the end of an outage.
func (s *session) fresh(ctx context.Context) {
	switch {
	case s.many != nil:
		if !s.many.fresh(ctx) {
			return
		}
	case s.leaveAddress(), s.ended():
		ctx, cancel := context.WithTimeout(ctx, s.pool.cfg.OperationTimeout)
		defer cancel()
		for s.dial(ctx) != nil && s.pool.cfg.OutageWait && s.backOff(ctx) {
		}
	default:
		return
	}
	s.freeAt, s.behind = max(s.pool.cfg.Clock.Now(), 1), 0
}

// ended closes the session's connection if its server has ended it, and reports whether it did.
func (s *session) ended() bool {
	if s.conn == nil || !protocol.Ended(s.conn) {
		return false
	}
	s.hangUp()
	return true
}

// unconnected pauses for the reconnect back-off after a request that couldn't be sent although the session itself stays
// usable. Otherwise a closed load would send failing requests to an address that is down without any pause.
func (s *session) unconnected(ctx context.Context) {
	switch {
	case s.conn == nil:
	case s.sample.Class != protocol.Connect:
		s.failures = 0
	default:
		s.failures++
		s.backOff(ctx)
		s.freeAt = s.pool.cfg.Clock.Now()
	}
}

// mostUnsent is how often an operation that timed out before anything was sent gets its timeout again.
const mostUnsent = 3

// begun is the value of session.unsent after something was sent or given up.
const begun = -1

// execute executes operation number i, including retries, and records it. intended < 0 means a closed load.
func (s *session) execute(hard context.Context, src source, i uint64, intended int64) {
	cfg, c, m := &s.pool.cfg, &s.cursor, &s.sample
	s.pool.account.Do(func(r *measure.Recorder) {
		s.pool.reach(r, intended)
		src.took()
		s.pool.inFlight++
	})
	sent := cfg.Clock.Now()
	*m = measure.Sample{Address: s.address, Open: intended >= 0, Intended: intended, Ready: s.freeAt,
		GeneratorDelay: s.behind, Sent: sent}
	if intended < 0 {
		m.Intended = sent
	}
	next := c.Begin(i)
	ctx, cancel := s.within(hard)
	defer func() {
		s.cut.Store(nil)
		cancel()
	}()
	s.unsent = 0
	for next != workload.Over {
		before := s.unsent
		if next = s.carryOn(ctx, hard, next); s.unsent > before {
			// This process was stopped until the timeout expired, and nothing was sent.
			cancel()
			ctx, cancel = s.within(hard)
			m.Sent = cfg.Clock.Now()
			if intended < 0 {
				m.Intended = m.Sent
			}
			continue
		}
		if f := c.TakeFailure(); f != nil && hard.Err() == nil {
			s.pool.report(engine.ErrorEvent{
				AtNs: c.EndNs, Operation: c.Operation, Index: i, Address: m.Address, Attempt: c.Attempts, Failure: *f,
			})
		}
	}
	c.Ended(cfg.Clock.Now())
	engine.Fill(m, c)
	cut := m.Class != protocol.OK && hard.Err() != nil
	s.pool.account.Do(func(r *measure.Recorder) {
		s.pool.inFlight--
		if cut {
			r.UnfinishedAt(m.Operation, m.Address, m.Intended, m.End)
		} else {
			r.Record(m)
		}
	})
	if cut {
		c.ReportUnfinished(m.Address, m.Sent, m.End)
		return
	}
	c.Tell(m.Address, m.Intended, m.Sent)
}

// within returns a context with the operation timeout, from now on.
func (s *session) within(hard context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(hard, s.pool.cfg.OperationTimeout)
	if s.pool.cfg.DropLeaving {
		s.cut.Store(&underway{cancel: cancel})
	}
	return ctx, cancel
}

// carryOn executes the next step of the operation's cursor.
func (s *session) carryOn(ctx, hard context.Context, next workload.Move) workload.Move {
	cfg, c := &s.pool.cfg, &s.cursor
	paused := false
	switch next {
	case workload.Send:
		return s.send(ctx, hard)
	case workload.Fork:
		return s.fork(ctx)
	case workload.Think:
		paused = protocol.Sleep(ctx, c.Pause())
	case workload.Retry:
		paused = !cfg.TooLate(s.sample.Intended, c.EndNs) &&
			(s.conn != nil || cfg.RetryErrors) && protocol.Sleep(ctx, s.backoff.Retry(c.Attempts, cfg.RetryPause)) &&
			s.ready(ctx)
	}
	if paused {
		return c.Resume()
	}
	return c.Expire(cfg.Clock.Now())
}

// send sends the cursor's request and waits for its answer. After a fatal failure the connection is
// closed.
func (s *session) send(ctx, hard context.Context) workload.Move {
	cfg, c := &s.pool.cfg, &s.cursor
	request := c.Request()
	if c.RollingBack() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(hard, cfg.OperationTimeout)
		defer cancel()
	} else {
		s.sample.Address = s.pool.route.Of(s.address, request, c.Args())
		if s.many != nil {
			s.sample.Address = s.many.choose(c)
		}
		if u := s.cut.Load(); u != nil {
			u.address.Store(int64(s.sample.Address) + 1)
		}
	}
	if s.stateless && !c.First() && s.many == nil && (s.conn == nil || s.ended()) {
		s.dial(ctx) // if it fails, so does the request
	}
	s.reply.Reset(len(request.Capture))
	sent := cfg.Clock.Now()
	if d := c.Silence(); d > 0 || s.hasty {
		s.limitSilence(d)
	}
	s.do(ctx, request, c.Args(), &s.reply)
	for again := 0; s.reply.Again && s.reply.Fatal && again < protocol.AgainAtMost && s.again(ctx); again++ {
		s.reply.Reset(len(request.Capture))
		s.do(ctx, request, c.Args(), &s.reply)
	}
	if s.unsent >= 0 && s.unsent < mostUnsent && s.reply.Unsent && protocol.IsLate(ctx, ctx.Err()) && hard.Err() == nil {
		s.unsent++
		return workload.Send
	}
	s.unsent = begun
	if s.reply.Reopened {
		s.pool.account.Do(func(r *measure.Recorder) { r.Reconnect(s.sample.Address) })
	}
	s.served = s.served || !s.reply.Fatal
	next := c.Answered(&s.reply, sent, cfg.Clock.Now())
	if s.reply.Fatal && s.many != nil {
		s.many.lose(s.sample.Address)
	} else if s.reply.Fatal {
		s.lost(ctx.Err() != nil)
		s.hangUp()
	}
	return next
}

// limitSilence says how long the server may be silent during the next request; 0: no limit.
func (s *session) limitSilence(d time.Duration) {
	s.hasty = d > 0
	if c, ok := s.conn.(protocol.Patient); ok {
		c.LimitSilence(d)
	}
}

// again replaces a connection that the server ended without having looked at the request.
func (s *session) again(ctx context.Context) bool {
	if s.many != nil {
		return false
	}
	s.hangUp()
	return s.dial(ctx) == nil
}

const never = int64(math.MaxInt64)

// do sends a request over the session's connection; it fails if there is none.
func (s *session) do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if s.conn == nil {
		reply.Fail(&protocol.Error{Class: protocol.Connect, Text: "the session isn't connected"})
		return
	}
	s.conn.Do(ctx, r, args, reply)
}

// leaveAddress closes the connection if the session now has another address, and reports whether it did.
func (s *session) leaveAddress() bool {
	home := s.pool.route.Home(s.number)
	if s.pool.route.Driven() || home == s.address {
		return false
	}
	s.hangUp()
	s.pool.refusing[s.address].Store(!s.pool.cfg.Nodes.Active(s.address))
	s.address, s.before, s.failures = home, false, 0
	s.pool.refusing[home].Store(false)
	return true
}

// underway is an operation in progress that can be cancelled.
type underway struct {
	cancel  context.CancelFunc
	address atomic.Int64 // where it is sent, from 1
}

// drop cancels the current operation if its node has left. It is safe for concurrent use.
func (s *session) drop() {
	if u := s.cut.Load(); u != nil {
		if at := int(u.address.Load()) - 1; at >= 0 && !s.pool.cfg.Nodes.Active(at) {
			u.cancel()
		}
	}
}
