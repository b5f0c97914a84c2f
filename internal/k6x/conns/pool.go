// Package conns is connections that the virtual users of a run share: a pool for each target, from which
// each request, or transaction, borrows one.
package conns

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"brunt/internal/balance"
	"brunt/internal/engine"
	"brunt/internal/k6x/session"
	"brunt/internal/protocol"
)

// Target is where connections go.
type Target struct {
	Protocol string // its own name, for the record
	Driver   protocol.Driver
	Targets  []protocol.Target
	Policy   balance.Policy // which address a new connection goes to; nil: in turn
	Most     int            // connections open at once; 0: as many as are asked for
}

// Pool is the connections of all virtual users to one target. It is safe for concurrent use.
type Pool struct {
	Target
	numbers []int // of the addresses in the record
	ctx     context.Context
	stop    context.CancelFunc
	free    chan struct{} // a place for each connection that may be open; nil without a bound

	mu       sync.Mutex
	idle     []*Link
	open     map[*Link]bool
	dialed   int
	backoff  engine.Backoff
	failures int
	failure  *protocol.Error // of the last attempt to connect, if it failed
	next     time.Time       // before which none is made
}

// Link is a connection. It is used by one goroutine at a time.
type Link struct {
	Conn    protocol.Conn
	Address int  // its number in the record
	Broken  bool // it is of no more use: Give closes it

	requests []*protocol.Request // made ready, by their IDs
	ids      map[string]int
}

// Request is what may be sent, apart from any connection. Key tells it from others.
type Request struct {
	Key string
	protocol.Request
}

// New returns a pool, which opens nothing yet.
func New(s *session.Session, t Target) *Pool {
	if t.Policy == nil {
		t.Policy = balance.RoundRobin(len(t.Targets))
	}
	p := &Pool{Target: t, open: map[*Link]bool{}, backoff: engine.NewBackoff(s.Seed(), 0)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for i := range t.Targets {
		p.numbers = append(p.numbers, s.Address(t.Protocol, t.Targets[i].Address))
	}
	if t.Most > 0 {
		p.free = make(chan struct{}, t.Most)
	}
	return p
}

// Take returns a connection that nobody uses, or a new one.
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
	if n := len(p.idle); n > 0 {
		l := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return l, nil
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

// dial connects to an address or, if that fails, to the next ones.
func (p *Pool) dial(ctx context.Context, first int) (*Link, *protocol.Error) {
	if p.ctx.Err() != nil {
		return nil, &protocol.Error{Class: protocol.Connect, Text: "the run is over: connections are closed"}
	}
	var failure *protocol.Error
	for i := range p.Targets {
		at := (first + i) % len(p.Targets)
		conn, err := p.Driver.Dial(ctx, p.Targets[at], &protocol.Program{})
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
		return nil, failure // which says nothing of the addresses
	}
	p.mu.Lock()
	p.failures++
	p.failure, p.next = failure, time.Now().Add(p.backoff.Reconnect(p.failures))
	p.mu.Unlock()
	return nil, failure
}

// Rest is how long no attempt to connect is made any more.
func (p *Pool) Rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.next)
}

// Give takes a connection back.
func (p *Pool) Give(l *Link) {
	p.mu.Lock()
	done := l.Broken || p.ctx.Err() != nil
	if done {
		delete(p.open, l)
	} else {
		p.idle = append(p.idle, l) // from here on it may be somebody else's
	}
	p.mu.Unlock()
	if done {
		_ = l.Conn.Close() // what is lost is lost
	}
	p.leave()
}

// Close ends all connections.
func (p *Pool) Close() error {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
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

// KeptRequests is how many different requests stay prepared on a connection. Those beyond are sent as
// text, one in the place of the other.
const KeptRequests = 256

// Ready returns the request as the connection knows it, making it ready if it doesn't.
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
