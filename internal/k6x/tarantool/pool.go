//go:build !nok6

package tarantool

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"brunt/internal/driver"
	"brunt/internal/k6x/session"
)

type closer = io.Closer

// pool is the connections of all virtual users to the addresses of one connect. It is safe for
// concurrent use.
type pool struct {
	options *options
	now     func() int64
	nodes   []*node // one address after the other, options.connections each
	turn    atomic.Uint64
	ctx     context.Context // ends at Close
	stop    context.CancelFunc
	working sync.WaitGroup

	schemas
}

func newPool(s *session.Session, o *options) (*pool, error) {
	p := &pool{options: o, now: s.Now}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for _, address := range o.addresses {
		number := s.Address("iproto", address)
		for range o.connections {
			p.nodes = append(p.nodes, &node{pool: p, number: number, target: driver.Target{
				Address: address, User: o.user, Password: o.password, ConnectTimeout: o.connectTimeout,
			}})
		}
	}
	return p, nil
}

// pick returns the connection for the next request: of the address whose turn it is, or of the next one
// that isn't known to be down.
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

// Close ends all connections.
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
