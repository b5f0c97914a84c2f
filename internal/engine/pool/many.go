package pool

import (
	"context"
	"errors"
	"sync"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// many contains a session's connections, one to each node. Every operation uses the connection that the pool's balancer
// chooses. If a connection is lost, only the operation at its node fails, and a goroutine reconnects it.
type many struct {
	session *session
	links   []link      // by node
	reach   balance.Set // nodes that are connected
	up      int         // how many
	seen    uint64      // changes of the nodes that were handled
	address int         // of the current operation
	none    bool        // no node may serve it

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	dialers sync.WaitGroup
	arrived chan arrived
	ended   sync.Once
}

// link is the connection to a node.
type link struct {
	conn    protocol.Conn // nil while it is not connected
	dialing bool
	before  bool // it has been connected before
}

// arrived is the result of an attempt to connect. After a failed attempt others follow, unless the node has left.
type arrived struct {
	address int
	conn    protocol.Conn
	err     error
	over    bool // there is no further attempt
}

var _ protocol.Conn = (*many)(nil)

// dialMany connects the session to all nodes. It succeeds if at least one can be reached.
func (s *session) dialMany(ctx context.Context) error {
	p := s.pool
	c := &many{session: s, links: make([]link, p.cfg.Nodes.Cap()), reach: balance.NewSet(p.cfg.Nodes.Cap()),
		arrived: make(chan arrived, p.cfg.Nodes.Cap())}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.seen = p.changes.Load()
	first := c.dialMissing()
	var failure error
	for range first {
		select {
		case a := <-c.arrived:
			c.take(a)
			if failure == nil {
				failure = a.err
			}
		case <-ctx.Done():
			c.Close()
			return ctx.Err()
		}
	}
	if c.up == 0 {
		c.Close()
		if failure == nil {
			failure = &protocol.Error{Class: protocol.Connect, Text: "there is no node to connect to"}
		}
		s.failures++
		return failure
	}
	s.conn, s.many, s.before, s.failures, s.served = c, c, true, 0, c.up > 0
	return nil
}

// dialMissing starts connecting to the members that aren't connected, and returns their number.
func (c *many) dialMissing() (n int) {
	p := c.session.pool
	for i := range p.cfg.Nodes.Len() {
		l := &c.links[i]
		if l.conn != nil || l.dialing || !p.cfg.Nodes.Active(i) {
			continue
		}
		n++
		l.dialing = true
		p.refusing[i].Store(false)
		backoff := engine.NewBackoff(uint64(p.cfg.Clock.Now())+uint64(i), uint64(c.session.number))
		c.dialers.Go(func() { c.dial(i, backoff) })
	}
	return n
}

// dial tries to connect to a node until it succeeds, the node leaves, or the session ends.
func (c *many) dial(address int, backoff engine.Backoff) {
	p := c.session.pool
	for failures := 0; protocol.Sleep(c.ctx, backoff.Reconnect(failures)); failures++ {
		conn, err := p.dial(c.ctx, address)
		over := err == nil || !p.cfg.Nodes.Active(address)
		if err != nil && c.ctx.Err() == nil {
			p.refusing[address].Store(true)
			if !c.session.further.Load() {
				p.cfg.Refused(address, protocol.AsError(err))
			}
		}
		if failures > 0 && !over {
			continue
		}
		select {
		case c.arrived <- arrived{address, conn, err, over}:
		case <-c.ctx.Done():
			if conn != nil {
				conn.Close()
			}
			return
		}
		if over {
			return
		}
	}
}

// take handles the result of an attempt to connect.
func (c *many) take(a arrived) {
	s, l := c.session, &c.links[a.address]
	p := s.pool
	l.dialing = !a.over
	if a.conn == nil {
		return
	}
	if !p.cfg.Nodes.Active(a.address) {
		a.conn.Close()
		return
	}
	l.conn = a.conn
	c.reach.Add(a.address)
	p.refusing[a.address].Store(false)
	p.connect(a.address, 1)
	if c.up++; c.up == 1 {
		p.connected.Add(1)
	}
	if l.before {
		p.account.Do(func(r *measure.Recorder) { r.Reconnect(a.address) })
	}
	l.before = true
}

// look handles the results of attempts and the changes of nodes since the last operation.
func (c *many) look() {
	p := c.session.pool
	for {
		select {
		case a := <-c.arrived:
			c.take(a)
			continue
		default:
		}
		break
	}
	if changes := p.changes.Load(); changes != c.seen {
		c.seen = changes
		for i := range c.links {
			if !p.cfg.Nodes.Active(i) {
				c.close(i)
				p.refusing[i].Store(true)
			}
		}
		c.dialMissing()
	}
}

// ready reports whether there is a connection. If there is none, it waits for one for the back-off's time.
func (c *many) ready(ctx context.Context) bool {
	c.look()
	if c.up > 0 {
		return true
	}
	s := c.session
	s.failures++
	wait, cancel := context.WithTimeout(ctx, s.backoff.Reconnect(s.failures))
	defer cancel()
	select {
	case a := <-c.arrived:
		c.take(a)
	case <-wait.Done():
	}
	if c.up > 0 {
		s.failures = 0
	}
	return c.up > 0
}

// fresh connects again to the nodes that have ended their connections, and reports whether there were any. Those that
// can't be reached are tried further by goroutines.
func (c *many) fresh(ctx context.Context) (found bool) {
	c.look()
	for i := range c.links {
		if c.links[i].conn == nil || !protocol.Ended(c.links[i].conn) {
			continue
		}
		found = true
		c.close(i)
		if conn, err := c.session.pool.dial(ctx, i); err == nil {
			c.take(arrived{address: i, conn: conn, over: true})
		}
	}
	if found {
		c.dialMissing()
	}
	return found
}

// choose returns the node for a cursor's request, which is the node of the operation's first request.
func (c *many) choose(cursor *workload.Cursor) int {
	if !cursor.First() && c.links[c.address].conn != nil {
		return c.address
	}
	c.look()
	b := c.session.pool.route.Balancer()
	role, key := cursor.Role(), uint64(0)
	if b.Hashes() {
		key, _ = cursor.Key()
	}
	address, ok := b.Pick(role, key, c.reach)
	if ok && b.Buckets() {
		cursor.Placed(b.Placed(key, address))
	}
	for i := 0; !ok && i < len(c.links); i++ { // count the failure for a node that would have served it
		if b.Serves(i, role) {
			address = i
			break
		}
	}
	c.address, c.none = address, !ok
	return address
}

// Do sends a request to the chosen node.
func (c *many) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	l := &c.links[c.address]
	if c.none || l.conn == nil {
		reply.Fail(&protocol.Error{Class: protocol.Connect, Text: "no node is connected that serves the request"})
		return
	}
	b := c.session.pool.route.Balancer()
	b.Begin(c.address)
	l.conn.Do(ctx, req, args, reply)
	b.End(c.address)
}

// lose closes the connection to a node and reconnects it.
func (c *many) lose(address int) {
	c.close(address)
	c.dialMissing()
}

func (c *many) close(address int) {
	l := &c.links[address]
	if l.conn == nil {
		return
	}
	c.session.pool.close(l.conn)
	l.conn = nil
	c.reach.Remove(address)
	p := c.session.pool
	p.connect(address, -1)
	if c.up--; c.up == 0 && p.connected.Add(-1) == 0 {
		p.downSince.Store(p.cfg.Clock.Now())
	}
}

// Close closes all connections.
func (c *many) Close() error {
	var all error
	c.ended.Do(func() {
		c.cancel()
		c.dialers.Wait()
		for i := range c.links {
			c.close(i)
		}
		for {
			select {
			case a := <-c.arrived:
				if a.conn != nil {
					all = errors.Join(all, a.conn.Close())
				}
				continue
			default:
			}
			break
		}
	})
	return all
}
