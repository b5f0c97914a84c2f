// Package conns provides connection pools for the virtual users of a run: one pool for each target. Each request or
// transaction borrows a connection.
package conns

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// Target is the destination of connections.
type Target struct {
	Protocol string // its name in the record
	Driver   protocol.Driver
	Targets  []protocol.Target
	Policy   balance.Policy // chooses the address of a new connection; nil: in turn
	Most     int            // connections open at once; 0 means no limit
	Embedded bool           // inside brunt: addresses are paths
}

// Pool is the connections of all virtual users to one target. It is safe for concurrent use.
type Pool struct {
	Target
	numbers []int // numbers of the addresses in the record
	placed  func(protocol.Target) (protocol.Target, *protocol.Error)
	ctx     context.Context
	stop    context.CancelFunc
	free    chan struct{} // a slot for each connection that may be open; nil means no limit

	lingering sync.WaitGroup // what broken connections still do; none is added after Close

	mu       sync.Mutex
	idle     []*Link
	open     map[*Link]bool
	closed   bool
	dialed   int
	backoff  engine.Backoff
	failures int
	failure  *protocol.Error // of the last attempt to connect, if it failed
	next     time.Time       // no attempt is made before this time
}

// Link is a connection. It is used by one goroutine at a time.
type Link struct {
	Conn    protocol.Conn
	Address int  // its number in the record
	Broken  bool // Give closes the connection instead of reusing it

	requests []*protocol.Request // prepared requests by their IDs
	ids      map[string]int
}

// Request is a request that may be sent over any connection. Key identifies it.
type Request struct {
	Key string
	protocol.Request
}

// New returns a pool. It opens no connection yet.
func New(s *session.Session, t Target) *Pool {
	if t.Policy == nil {
		t.Policy = balance.RoundRobin(len(t.Targets))
	}
	p := &Pool{Target: t, placed: s.PlaceTarget, open: map[*Link]bool{}, backoff: engine.NewBackoff(s.Seed(), 0)}
	if t.Embedded {
		p.placed = func(t protocol.Target) (protocol.Target, *protocol.Error) { return t, nil }
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for i := range t.Targets {
		p.numbers = append(p.numbers, s.Address(t.Protocol, t.Targets[i].Address))
	}
	if t.Most > 0 {
		p.free = make(chan struct{}, t.Most)
	}
	return p
}

// Take returns an idle connection, or a new one. It waits if Most connections are in use.
func (p *Pool) Take(ctx context.Context) (*Link, *protocol.Error) {
	if p.free != nil {
		select {
		case p.free <- struct{}{}:
		case <-ctx.Done():
			return nil, &protocol.Error{Class: protocol.Timeout, Text: "no connection became free in time; raise sessions",
				Err: ctx.Err()}
		}
	}
	p.mu.Lock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		l := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !protocol.Ended(l.Conn) {
			p.mu.Unlock()
			return l, nil
		}
		delete(p.open, l)
		_ = l.Conn.Close() // the server has closed it
	}
	first := p.Policy(p.dialed)
	p.dialed++
	failure := p.failure
	if !time.Now().Before(p.next) {
		failure = nil
	}
	p.mu.Unlock()
	if failure == nil {
		var l *Link
		if l, failure = p.dial(ctx, first); failure == nil {
			return l, nil
		}
	}
	p.leave()
	return nil, failure
}

func (p *Pool) leave() {
	if p.free != nil {
		<-p.free
	}
}

// dial connects to an address or, if that fails, to the following ones.
func (p *Pool) dial(ctx context.Context, first int) (*Link, *protocol.Error) {
	if p.ctx.Err() != nil {
		return nil, &protocol.Error{Class: protocol.Connect, Text: "the run is over: connections are closed"}
	}
	var failure *protocol.Error
	for i := range p.Targets {
		at := (first + i) % len(p.Targets)
		target, refused := p.placed(p.Targets[at])
		if refused != nil {
			return nil, refused
		}
		conn, err := p.Driver.Dial(ctx, target, &protocol.Program{})
		if err != nil {
			if failure == nil {
				failure = protocol.AsError(err)
			}
			continue
		}
		l := &Link{Conn: conn, Address: p.numbers[at], ids: map[string]int{}}
		p.mu.Lock()
		p.open[l] = true
		p.failure, p.failures = nil, 0
		p.mu.Unlock()
		return l, nil
	}
	if ctx.Err() != nil {
		return nil, failure // a failure of the caller's context isn't one of the addresses
	}
	p.mu.Lock()
	p.failures++
	p.failure, p.next = failure, time.Now().Add(p.backoff.Reconnect(p.failures))
	p.mu.Unlock()
	return nil, failure
}

// Rest returns how long the pool will not try to connect, after a failed attempt. It may be negative.
func (p *Pool) Rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.next)
}

// Give returns a connection to the pool. It closes a broken one.
func (p *Pool) Give(l *Link) {
	p.mu.Lock()
	done := l.Broken || p.ctx.Err() != nil
	if done {
		delete(p.open, l)
		if lingers := protocol.Lingers(l.Conn); lingers != nil && !p.closed {
			p.lingering.Go(func() { <-lingers })
		}
	} else {
		p.idle = append(p.idle, l) // from here on another goroutine may use it
	}
	p.mu.Unlock()
	if done {
		_ = l.Conn.Close() // its error no longer matters
	}
	p.leave()
}

// Close closes all connections, and waits until servers have been asked to stop what they do for those that broke.
func (p *Pool) Close() error {
	p.stop()
	defer p.lingering.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var all error
	for l := range p.open {
		all = errors.Join(all, l.Conn.Close())
	}
	clear(p.open)
	p.idle = nil
	if c, ok := p.Driver.(io.Closer); ok {
		all = errors.Join(all, c.Close())
	}
	return all
}

// KeptRequests is how many different requests stay prepared on a connection. Requests beyond that are sent as text, and
// share one place.
const KeptRequests = 256

// Ready returns the request in the form that the connection has prepared, preparing it first if necessary.
func (l *Link) Ready(ctx context.Context, a *Request) (*protocol.Request, *protocol.Error) {
	if id, ok := l.ids[a.Key]; ok {
		return l.requests[id], nil
	}
	adder, ok := l.Conn.(protocol.AdHoc)
	if !ok {
		return nil, protocol.Bad("this protocol takes requests from plans only")
	}
	r := a.Request
	r.ID = min(len(l.requests), KeptRequests)
	if r.ID == KeptRequests && r.Verb == protocol.SQL {
		r.Simple = true
	}
	if err := adder.Add(ctx, &r); err != nil {
		e := protocol.AsError(err)
		l.Broken = l.Broken || e.Fatal && e.Class != protocol.Client
		return nil, e
	}
	if r.ID == len(l.requests) {
		l.requests = append(l.requests, &r)
	} else {
		l.requests[r.ID] = &r
	}
	if r.ID < KeptRequests {
		l.ids[a.Key] = r.ID
	}
	return l.requests[r.ID], nil
}

// Lender lends connections; see the methods of Pool.
type Lender interface {
	Take(ctx context.Context) (*Link, *protocol.Error)
	Give(l *Link)
	Rest() time.Duration
}

// Ask sends a request of a virtual user over a connection that it borrows, and records the outcome under the request's
// name. timeout is from the time on when there is a connection. It fills reply and keeps reply.Each.
func Ask(ctx context.Context, vu *bind.VU, from Lender, timeout time.Duration, a *Request, args []gen.Value,
	reply *protocol.Reply) *protocol.Error {
	call := session.Call{Operation: vu.Operation(a.Name), Sent: vu.Run.Now(), Address: -1}
	l, failure := from.Take(ctx)
	if failure == nil {
		defer from.Give(l)
		call.Address = l.Address
		failure = l.ask(ctx, vu, timeout, a, args, reply, &call)
	} else {
		defer vu.Rest(ctx, from.Rest())
	}
	if failure != nil {
		call.Class, call.Code, call.Text = failure.Class, failure.Code, failure.Text
		call.Cut = vu.Context().Err() != nil
	}
	vu.Run.Done(call)
	return failure
}

func (l *Link) ask(ctx context.Context, vu *bind.VU, timeout time.Duration, a *Request, args []gen.Value,
	reply *protocol.Reply, call *session.Call) *protocol.Error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, failure := l.Ready(ctx, a)
	if failure != nil {
		return failure
	}
	call.Sent = vu.Run.Now() // the time for preparing the request isn't part of its service time
	reply.Reset(0)
	l.Conn.Do(ctx, r, args, reply)
	call.Absorb(reply, r.Kind())
	l.Broken = l.Broken || reply.Fatal
	reply.Class = r.ClassOf(reply.Class)
	return reply.Err()
}
