package engine

import (
	"context"
	"time"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/measure"
	"brunt/internal/tier"
	"brunt/internal/workload"
)

// session is one connection and the goroutine that uses it.
type session struct {
	pool    *Pool
	number  int
	address int
	shared  *measure.Shared

	conn     driver.Conn // nil while there is none
	failures int         // attempts to connect that have failed in a row
	backoff  tier.Backoff
	before   bool  // it has been connected before
	freeAt   int64 // when it became free to take an operation, on the run's clock; 0 before that is known
	state    workload.State
	filled   int // how many steps of the operation under way have their arguments
	reply    driver.Reply
	sample   measure.Sample
}

// dial connects. The failure is reported and returned.
func (s *session) dial(ctx context.Context) error {
	p := s.pool
	t := p.cfg.Targets[s.address]
	timeout := t.ConnectTimeout
	if timeout <= 0 {
		timeout = p.cfg.ConnectTimeout
	}
	dialCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := p.cfg.Driver.Dial(dialCtx, t, &p.cfg.Workload.Program)
	if err != nil {
		s.failures++
		p.refusing[s.address].Store(true)
		e := driver.AsError(err)
		if ctx.Err() == nil {
			f := driver.Failure{Class: e.Class, Code: e.Code, Text: e.Text, Fatal: true}
			p.report(tier.ErrorEvent{AtNs: p.cfg.Clock.Now(), Operation: -1, Address: s.address, Attempt: 1, Failure: f})
		}
		return e
	}
	s.conn = conn
	s.failures = 0
	p.refusing[s.address].Store(false)
	p.up[s.address].Add(1)
	p.connected.Add(1)
	if s.before {
		s.shared.Do(func(r *measure.Recorder) { r.Reconnect(s.address) })
	}
	s.before = true
	return nil
}

// hangUp closes the connection, if any.
func (s *session) hangUp() {
	if s.conn == nil {
		return
	}
	s.conn.Close()
	s.conn = nil
	s.pool.refusing[s.address].Store(false)
	s.pool.up[s.address].Add(-1)
	if s.pool.connected.Add(-1) == 0 {
		s.pool.downSince.Store(s.pool.cfg.Clock.Now())
	}
}

// ready makes sure that there is a connection: at most one attempt to get one, after a pause if
// the last attempt failed.
func (s *session) ready(ctx context.Context) bool {
	if s.conn != nil {
		return true
	}
	return s.backOff(ctx) && s.dial(ctx) == nil
}

// backOff pauses after failures to connect; it returns false if ctx ended first.
func (s *session) backOff(ctx context.Context) bool {
	return s.failures == 0 || sleep(ctx, s.backoff.Reconnect(s.failures))
}

// work takes operations from src and carries them out until there are none.
func (s *session) work(ctx, hard context.Context, src source) {
	s.freeAt = 0
	for ctx.Err() == nil {
		if s.conn == nil {
			s.freeAt = 0
		}
		if !s.ready(ctx) {
			if ctx.Err() != nil || !src.open() || s.pool.lost() && !src.yieldLost(s) {
				return
			}
			continue
		}
		if s.freeAt == 0 {
			s.freeAt = max(s.pool.cfg.Clock.Now(), 1)
		}
		i, intended, ok := src.take(ctx)
		if !ok {
			return
		}
		operation := s.execute(hard, i, intended)
		s.freeAt = s.sample.End
		if src.arrivals() {
			continue
		}
		s.unconnected(ctx)
		if d := s.pool.cfg.Workload.ThinkTime(operation, -1, i); d > 0 {
			sleep(ctx, d)
			s.freeAt += int64(d)
		}
	}
}

// unconnected pauses, as before connecting again, after a request that couldn't be sent although the
// session goes on, so that a closed load doesn't overrun an address that is down.
func (s *session) unconnected(ctx context.Context) {
	switch {
	case s.conn == nil:
	case s.sample.Class != driver.Connect:
		s.failures = 0
	default:
		s.failures++
		s.backOff(ctx)
		s.freeAt = s.pool.cfg.Clock.Now()
	}
}

// execute carries out operation number i, retries included, and records it. intended < 0 means
// that it is a closed load. It returns which operation it was.
func (s *session) execute(hard context.Context, i uint64, intended int64) int {
	cfg := &s.pool.cfg
	operation := cfg.Workload.Pick(i)
	ctx, cancel := context.WithTimeout(hard, cfg.OperationTimeout)
	defer cancel()

	s.pool.busy.Add(1)
	sent := cfg.Clock.Now()
	s.filled = 0
	m := &s.sample
	*m = measure.Sample{Operation: operation, Address: s.address, Open: intended >= 0, Intended: intended, Ready: s.freeAt, Sent: sent}
	if intended < 0 {
		m.Intended = sent
	}
	for {
		m.Attempts++
		f := s.attempt(ctx, operation, i, m)
		m.Class = f.Class
		if f.Class == driver.OK {
			break
		}
		s.pool.report(tier.ErrorEvent{
			AtNs: cfg.Clock.Now(), Operation: operation, Index: i, Address: m.Address, Attempt: m.Attempts, Failure: f,
		})
		if !s.again(ctx, f, m.Attempts) {
			break
		}
	}
	m.End = cfg.Clock.Now()
	s.pool.busy.Add(-1)
	s.shared.Record(m)
	if cfg.Workload.Timed != nil {
		cfg.Workload.Timed(workload.Timing{
			Operation: operation, Step: workload.WholeOperation, Index: i, Class: m.Class,
			IntendedNs: m.Intended, SentNs: m.Sent, EndNs: m.End,
		})
	}
	if cfg.Workload.Done != nil {
		cfg.Workload.Done(operation, i, m.Class)
	}
	return operation
}

// again waits before a further attempt, reconnecting if every failure is to be retried. It returns
// false if there is to be none.
func (s *session) again(ctx context.Context, f driver.Failure, attempts int) bool {
	cfg := &s.pool.cfg
	if attempts > cfg.Retries || !cfg.RetryErrors && (f.Class != driver.Retryable || s.conn == nil) {
		return false
	}
	return sleep(ctx, s.backoff.Retry(attempts, cfg.RetryPause)) && s.ready(ctx)
}

// attempt sends the operation's requests once. After a failure inside a transaction it rolls
// back; after a fatal one the connection is closed.
func (s *session) attempt(ctx context.Context, operation int, i uint64, m *measure.Sample) driver.Failure {
	op := &s.pool.cfg.Workload.Operations[operation]
	for k := range op.Steps {
		step := &op.Steps[k]
		if k > 0 {
			if d := s.pool.cfg.Workload.ThinkTime(operation, k-1, i); d > 0 && !sleep(ctx, d) {
				s.rollback(ctx, op, k)
				return driver.Failure{Class: driver.Timeout, Text: "the operation's timeout passed during its think time"}
			}
		}
		args := s.arguments(operation, k, i)
		s.reply.Reset(len(step.Request.Capture))
		began := s.pool.cfg.Clock.Now()
		request := step.For(i)
		m.Address = s.addressOf(request)
		s.conn.Do(ctx, request, args, &s.reply)
		if s.reply.Reopened {
			s.shared.Do(func(r *measure.Recorder) { r.Reconnect(m.Address) })
		}
		m.BytesIn += s.reply.BytesIn
		m.Missing = m.Missing || s.reply.Missing
		m.BadHash = m.BadHash || s.reply.BadHash
		if s.reply.Status != 0 {
			m.Status = s.reply.Status
		}
		f := s.reply.Failure
		if f.Fatal {
			s.hangUp()
		}
		if timed := s.pool.cfg.Workload.Timed; timed != nil {
			timed(workload.Timing{
				Operation: operation, Step: k, Index: i, Class: f.Class,
				IntendedNs: began, SentNs: began, EndNs: s.pool.cfg.Clock.Now(),
			})
		}
		if f.Class != driver.OK {
			s.rollback(ctx, op, k)
			return f
		}
		if s.conn == nil && k+1 < len(op.Steps) {
			return driver.Failure{Class: driver.Connect, Text: "the server closed the connection between two statements", Fatal: true}
		}
		s.state.Capture(k, &s.reply)
		if check := s.pool.cfg.Workload.Check; check != nil && len(step.Request.Capture) > 0 {
			if f := check(operation, k, &s.state); f.Class != driver.OK {
				s.rollback(ctx, op, k)
				return f
			}
		}
	}
	return driver.Failure{}
}

// addressOf is the address that a request goes to, the session's own unless it names one.
func (s *session) addressOf(r *driver.Request) int {
	if places := s.pool.places; places != nil && places[r.ID] >= 0 {
		return places[r.ID]
	}
	return s.address
}

// arguments generates a step's arguments when it is first reached; later attempts keep what was
// generated and take captured values anew.
func (s *session) arguments(operation, step int, i uint64) []gen.Value {
	w := s.pool.cfg.Workload
	if step >= s.filled {
		s.filled = step + 1
		return w.Args(&s.state, operation, step, i)
	}
	return w.Again(&s.state, operation, step)
}

// rollback ends a transaction whose step number k failed. BEGIN is step 0: if that failed there
// is nothing to end.
func (s *session) rollback(ctx context.Context, op *workload.Operation, k int) {
	if op.Rollback == nil || k == 0 || s.conn == nil {
		return
	}
	var reply driver.Reply
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pool.cfg.ConnectTimeout)
	defer cancel()
	s.conn.Do(ctx, op.Rollback, nil, &reply)
	if reply.Class != driver.OK {
		s.hangUp()
	}
}

// sleep waits for d; it returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
