package redis

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// clusterConn is a blocking session with a cluster. It holds a connection to each node that has been needed so
// far.
type clusterConn struct {
	target   protocol.Target // the node to ask for the cluster's topology
	options  *options
	router   *router
	nodes    map[string]*nodeConn // by address
	lost     map[string]bool      // addresses whose connection was lost and hasn't been reopened
	replicas [][]string           // addresses of the replicas of each span
	spans    []span
	turn     int // counter that rotates through the replicas
}

// nodeConn is the connection to one node.
type nodeConn struct {
	*blocking.Conn
	codec *askingCodec
}

// askingCodec can send a request for a key whose slot is being imported by its node.
type askingCodec struct {
	*codec
	ask bool // the next request is for such a key
}

// Encode calls EncodeAsk if ask is set.
func (c *askingCodec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	if c.ask {
		return c.EncodeAsk(dst, req, args)
	}
	return c.codec.Encode(dst, req, args)
}

// Rows skips the answer to ASKING.
func (c *askingCodec) Rows(
	answer []byte, req *protocol.Request, each func(columns []string, row []gen.Value),
) *protocol.Error {
	if c.ask {
		_, answer, _ = bytes.Cut(answer, []byte("\n"))
	}
	return c.codec.Rows(answer, req, each)
}

var _ protocol.AdHoc = (*clusterConn)(nil)

// dialCluster opens a connection to the given node and asks it for the cluster's topology.
func dialCluster(
	ctx context.Context, t protocol.Target, p *protocol.Program, o *options, requests []request,
) (protocol.Conn, error) {
	c := &clusterConn{target: t, options: o, nodes: map[string]*nodeConn{}, lost: map[string]bool{}}
	c.router = newRouter(protocol.NewNodes([]protocol.Target{t}, 0), o)
	c.router.requests = requests
	for i := range requests {
		c.router.keys = append(c.router.keys, keyOf(&p.Requests[i], &requests[i]))
	}
	_, refused := c.node(ctx, t.Address)
	if refused == nil {
		refused = c.learn(ctx)
	}
	if refused != nil {
		c.Close()
		return nil, refused
	}
	return c, nil
}

// learn asks for the cluster's topology: its members and the slots that each serves.
func (c *clusterConn) learn(ctx context.Context) *protocol.Error {
	seen, refused := askTopology(ctx, c.target, c.options)
	if refused != nil {
		return refused
	}
	before := c.router
	targets := seen.targets(c.target)
	asked := slices.IndexFunc(targets, func(t protocol.Target) bool { return t.Address == c.target.Address })
	c.router = newRouter(protocol.NewNodes(targets, 0), c.options)
	c.router.requests, c.router.keys = before.requests, before.keys
	c.router.learn(seen, asked)
	c.spans, c.replicas = seen.spans, c.replicas[:0]
	for _, s := range seen.spans {
		var all []string
		for _, r := range s.replicas {
			if n, ok := c.router.number(seen.nodes[r].address); ok {
				all = append(all, targets[n].Address)
			}
		}
		c.replicas = append(c.replicas, all)
	}
	return nil
}

// node returns the connection to an address. It opens one if there is none.
func (c *clusterConn) node(ctx context.Context, address string) (*nodeConn, *protocol.Error) {
	if n := c.nodes[address]; n != nil {
		return n, nil
	}
	t := c.target
	t.Address = address
	socket, refused := connect(ctx, t, c.options)
	if refused != nil {
		return nil, refused
	}
	codec := &askingCodec{codec: newCodec(c.router.requests)}
	n := &nodeConn{blocking.New(protocol.CodecConn{Net: socket, Codec: codec}), codec}
	c.nodes[address] = n
	return n, nil
}

// Do sends a command to the node that has its key, and follows redirections. The session survives the loss of a
// connection to one node.
func (c *clusterConn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	address, ask := c.addressOf(req, args), false
	received, reopened, misdirected := int64(0), false, false
	for redirects := 0; ; redirects++ {
		reply.Reset(len(req.Capture))
		if n := c.nodes[address]; n != nil && n.Ended() {
			delete(c.nodes, address)
			c.lost[address] = true
		}
		again := c.lost[address]
		n, refused := c.node(ctx, address)
		if refused != nil {
			reply.Fail(refused)
			reply.Fatal = false
			c.lost[address] = true
			_ = c.router.Refresh(ctx) // another node may have taken over: later requests use the new topology
			break
		}
		if again {
			delete(c.lost, address)
			reopened = true
		}
		n.codec.requests, n.codec.ask = c.router.requests, ask
		n.Do(ctx, req, args, reply)
		received += reply.BytesIn
		misdirected = misdirected || reply.Misdirected
		if reply.Fatal {
			n.Close()
			delete(c.nodes, address)
			c.lost[address] = true
			reply.Fatal = false
			break
		}
		if reply.Class != protocol.Retryable {
			break
		}
		var ok bool
		if address, ask, ok = c.redirected(ctx, &reply.Failure, redirects); !ok {
			break
		}
	}
	reply.BytesIn, reply.Reopened, reply.Misdirected = received, reopened, misdirected
}

// addressOf returns the address to send a request to first.
func (c *clusterConn) addressOf(req *protocol.Request, args []gen.Value) string {
	number, ok := c.router.Route(req, args)
	if !ok {
		return c.target.Address
	}
	if c.options.readOnly && req.Kind() == protocol.KindRead {
		if slot, ok := c.router.slot(req, args); ok {
			if replica, ok := c.replica(int(slot)); ok {
				return replica
			}
		}
	}
	return c.router.nodes.At(number).Address
}

// replica returns a replica of a slot, in rotation, skipping replicas whose connection is lost.
func (c *clusterConn) replica(slot int) (address string, ok bool) {
	at := slices.IndexFunc(c.spans, func(s span) bool { return s.first <= slot && slot <= s.last })
	if at < 0 {
		return "", false
	}
	for range c.replicas[at] {
		c.turn++
		if address = c.replicas[at][c.turn%len(c.replicas[at])]; !c.lost[address] {
			return address, true
		}
	}
	return "", false
}

// redirected returns where a failure redirects a request to. If the node named is unknown, it asks for the
// topology again.
func (c *clusterConn) redirected(ctx context.Context, f *protocol.Failure, redirects int) (address string, ask,
	ok bool) {
	number, ask, ok := c.router.Redirect(f, redirects)
	if !ok && redirects < c.options.maxRedirects {
		if _, moved := ParseRedirect(f.Text); moved && c.learn(ctx) == nil {
			number, ask, ok = c.router.Redirect(f, redirects)
		}
	}
	if !ok {
		return "", false, false
	}
	return c.router.nodes.At(number).Address, ask, true
}

// Add prepares a command that isn't part of the program.
func (c *clusterConn) Add(_ context.Context, req *protocol.Request) error {
	r, err := prepareOne(req)
	if err != nil {
		return protocol.Refused(req, "%v", err)
	}
	c.router.requests = protocol.Put(slices.Clone(c.router.requests), req.ID, r) // the slice is shared
	c.router.keys = protocol.Put(c.router.keys, req.ID, keyOf(req, &r))
	return nil
}

// Close ends the session.
func (c *clusterConn) Close() error {
	var all error
	for address, n := range c.nodes {
		all = errors.Join(all, n.Close())
		delete(c.nodes, address)
	}
	return all
}
