package tarantool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/dialect/k6/session"
	"brunt/internal/engine"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/iproto"
)

type closer = io.Closer

// pool is the connections of all virtual users to the addresses of one connect. It is safe for concurrent use.
type pool struct {
	options *options
	now     func() int64
	placed  func(protocol.Target) (protocol.Target, *protocol.Error)
	nodes   []*node // options.connections for each address, in the order of the addresses
	turn    atomic.Uint64
	ctx     context.Context // done after Close
	stop    context.CancelFunc
	working sync.WaitGroup

	schemas
}

func newPool(s *session.Session, o *options) *pool {
	p := &pool{options: o, now: s.Now, placed: s.PlaceTarget}
	p.ctx, p.stop = context.WithCancel(context.Background())
	s.Serves(&plan.Target{Addresses: o.addresses, User: o.user, Password: o.password}, "iproto", "")
	for _, address := range o.addresses {
		number := s.Address("iproto", address)
		for range o.connections {
			p.nodes = append(p.nodes, &node{pool: p, number: number, target: protocol.Target{
				Address: address, User: o.user, Password: o.password, ConnectTimeout: o.connectTimeout,
			}})
		}
	}
	return p
}

// pick returns the connection for the next request: one of the address that is next by the balancing policy or, if that
// is down, of the following address that isn't.
func (p *pool) pick() *node {
	turn := int(p.turn.Add(1)-1) & (1<<31 - 1)
	each := p.options.connections
	first := p.options.policy(turn)*each + turn/len(p.options.addresses)%each
	for i := range p.nodes {
		if n := p.nodes[(first+i*each)%len(p.nodes)]; !n.down.Load() {
			return n
		}
	}
	return p.nodes[first]
}

// Close closes all connections.
func (p *pool) Close() error {
	p.stop()
	p.working.Wait()
	var all error
	for _, n := range p.nodes {
		if c := n.live.Load(); c != nil {
			all = errors.Join(all, c.Close())
		}
	}
	return all
}

// node is one connection to one address. It is opened again whenever it is lost.
type node struct {
	pool   *pool
	number int // of the address in the record
	target protocol.Target
	live   atomic.Pointer[blocking.Shared]
	down   atomic.Bool // the last attempt to connect failed

	mu       sync.Mutex
	reviving bool
	attempt  chan struct{}   // closed at the end of the current attempt; nil during the pause before the next
	failure  *protocol.Error // of the last attempt
	next     time.Time       // when the next attempt begins, during a pause
}

// get returns the connection. It waits for an attempt to open a lost connection. During the pause between two attempts
// it returns the last failure immediately.
func (n *node) get(ctx context.Context) (*blocking.Shared, *protocol.Error) {
	for {
		if c := n.live.Load(); c != nil && c.Alive() {
			return c, nil
		}
		attempt, failure := n.revival()
		if attempt == nil {
			return nil, failure
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, &protocol.Error{Class: protocol.Connect,
				Text: fmt.Sprintf("the iteration was interrupted while connecting to %s", n.target.Address), Err: ctx.Err()}
		}
	}
}

// revival returns the current attempt, and starts one if necessary. During the pause between two attempts, and when
// there will be no more, attempt is nil and failure is that of the last one.
func (n *node) revival() (attempt chan struct{}, failure *protocol.Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pool.ctx.Err() != nil {
		return nil, &protocol.Error{Class: protocol.Connect, Text: "the run is over: connections are closed"}
	}
	if !n.reviving {
		if limit := n.pool.options.maxReconnects; limit > 0 && n.failure != nil && n.down.Load() {
			return nil, n.failure // given up
		}
		n.reviving, n.attempt = true, make(chan struct{})
		n.pool.working.Go(n.revive)
	}
	return n.attempt, n.failure
}

// revive connects, and repeats that until it succeeds or the limit of attempts is reached.
func (n *node) revive() {
	backoff := engine.NewBackoff(uint64(n.number), 0)
	for failures := 1; ; failures++ {
		c, failure := n.open()
		n.mu.Lock()
		n.failure = failure
		n.down.Store(failure != nil)
		if failure == nil {
			n.live.Store(c)
		}
		limit := n.pool.options.maxReconnects
		n.reviving = failure != nil && n.pool.ctx.Err() == nil && (limit == 0 || uint(failures) <= limit)
		close(n.attempt)
		n.attempt = nil
		pause := n.pool.options.reconnect
		if pause == 0 {
			pause = backoff.Reconnect(failures)
		}
		n.next = time.Now().Add(pause)
		again := n.reviving
		n.mu.Unlock()
		if !again {
			return
		}
		if !protocol.Sleep(n.pool.ctx, pause) {
			return
		}
		n.mu.Lock()
		n.attempt = make(chan struct{})
		n.mu.Unlock()
	}
}

// rest returns the remaining pause before the next attempt. It may be negative.
func (n *node) rest() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.next)
}

// open makes one attempt to connect.
func (n *node) open() (*blocking.Shared, *protocol.Error) {
	at, refused := n.pool.placed(n.target)
	if refused != nil {
		return nil, refused
	}
	c, failure := iproto.Bare(n.pool.ctx, at)
	if failure != nil {
		return nil, failure
	}
	o := n.pool.options
	return blocking.Share(c, blocking.SharedOptions{
		Timeout: o.timeout, Most: int(o.rateLimit), Wait: o.rateAction != 0, Now: n.pool.now, Ping: iproto.Ping(),
	})
}
