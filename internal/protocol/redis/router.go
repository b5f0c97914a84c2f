package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// router knows which target serves each slot of a cluster.
type router struct {
	nodes    *protocol.Nodes
	options  *options
	requests []request
	keys     []key // by Request.ID
	crc      crcTable
	slots    [Slots]atomic.Int32 // number of the target that serves the slot, from 1; 0 means unknown
	serves   []atomic.Bool       // by node: it serves at least one slot

	mu      sync.Mutex     // guards the following fields
	numbers map[string]int // numbers of targets, by their own addresses and by the cluster's addresses for them
	next    int            // the target to ask first
}

// key says where the key of a request comes from.
type key struct {
	word  int // index of the key among the words; −1 means no key
	fixed bool
	slot  uint16 // of a fixed key
}

var (
	_ protocol.Routed = (*Driver)(nil)
	_ protocol.Router = (*router)(nil)
)

// Router returns a router by the cluster's slots, or nil for single servers.
func (*Driver) Router(nodes *protocol.Nodes, p *protocol.Program) protocol.Router {
	requests, o, refused := prepare(nodes.At(0), p)
	if refused != nil || !o.cluster {
		return nil
	}
	r := newRouter(nodes, o)
	r.requests, r.keys = requests, make([]key, len(requests))
	for i := range requests {
		r.keys[i] = keyOf(&p.Requests[i], &requests[i])
	}
	return r
}

// newRouter returns a router without requests.
func newRouter(nodes *protocol.Nodes, o *options) *router {
	r := &router{
		nodes: nodes, options: o, crc: makeTable(),
		serves: make([]atomic.Bool, nodes.Cap()), numbers: map[string]int{},
	}
	for i := nodes.Len() - 1; i >= 0; i-- {
		r.numbers[nodes.At(i).Address] = i
	}
	return r
}

func keyOf(req *protocol.Request, r *request) (k key) {
	if k.word = KeyWord(req.Words); k.word < 0 {
		return k
	}
	var text []byte
	if text, k.fixed = r.words[k.word].Fixed(); k.fixed {
		k.slot = Slot(text)
	}
	return k
}

// Serves reports whether a target serves any slot.
func (r *router) Serves(address int) bool { return r.serves[address].Load() }

// Route returns the target that serves the key of a command.
func (r *router) Route(req *protocol.Request, args []gen.Value) (address int, ok bool) {
	slot, ok := r.slot(req, args)
	if !ok {
		return 0, false
	}
	number := r.slots[slot].Load()
	return int(number) - 1, number > 0
}

// slot returns the slot of a command's key; ok is false if the command has none.
func (r *router) slot(req *protocol.Request, args []gen.Value) (slot uint16, ok bool) {
	k := &r.keys[req.ID]
	if k.word < 0 || len(args) != r.requests[req.ID].params {
		return 0, false
	}
	if k.fixed {
		return k.slot, true
	}
	var room [128]byte
	return r.crc.slot(r.requests[req.ID].words[k.word].Plain(room[:0], args)), true
}

// Redirect handles MOVED and ASK.
func (r *router) Redirect(f *protocol.Failure, redirects int) (address int, ask, ok bool) {
	if f.Code != "MOVED" && f.Code != "ASK" {
		return 0, true, false // nothing has moved
	}
	to, ok := ParseRedirect(f.Text)
	if !ok {
		return 0, false, false
	}
	if address, ok = r.number(to.Address); !ok {
		return 0, to.Ask, false
	}
	r.serves[address].Store(true)
	if !to.Ask {
		r.slots[to.Slot].Store(int32(address) + 1)
	}
	return address, to.Ask, redirects < r.options.maxRedirects
}

// number finds a target by the cluster's address for it. ":port" means the same host as the node that answered;
// it is found if exactly one target has the port.
func (r *router) number(address string) (number int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number, ok = r.numbers[address]; ok || !strings.HasPrefix(address, ":") {
		return number, ok
	}
	for i, t := range r.nodes.All() {
		if _, port, err := net.SplitHostPort(t.Address); err == nil && ":"+port == address {
			if ok {
				return 0, false
			}
			number, ok = i, true
		}
	}
	return number, ok
}

// Refresh asks the targets in turn for the topology, until one answers.
func (r *router) Refresh(ctx context.Context) error {
	var first error
	for range r.nodes.Len() {
		r.mu.Lock()
		asked := r.next
		r.next = (r.next + 1) % r.nodes.Len()
		r.mu.Unlock()
		seen, refused := askTopology(ctx, r.nodes.At(asked), r.options)
		if refused == nil {
			r.learn(seen, asked)
			return nil
		}
		if first == nil {
			first = refused
		}
		if ctx.Err() != nil {
			break
		}
	}
	if first == nil {
		first = errors.New("there is no address to ask who is in the cluster")
	}
	return first
}

// learn applies the topology that target number asked has returned.
func (r *router) learn(seen *topology, asked int) {
	serves := make([]bool, r.nodes.Cap())
	numbers := make([]int, len(seen.nodes)) // numbers of targets, from 1
	for i, n := range seen.nodes {
		if seen.is(&n, r.nodes.At(asked).Address) {
			r.mu.Lock()
			r.numbers[n.address] = asked
			r.mu.Unlock()
		}
		number, ok := r.number(n.address)
		if !ok {
			number, ok = r.join(n.address, asked)
		}
		if ok {
			numbers[i] = number + 1
		}
	}
	for _, s := range seen.spans {
		if number := numbers[s.node]; number > 0 {
			serves[number-1] = true
		}
		for slot := s.first; slot <= s.last; slot++ {
			r.slots[slot].Store(int32(numbers[s.node]))
		}
	}
	for i := range serves {
		r.serves[i].Store(serves[i])
	}
}

// join adds a new node to the run, with the credentials of the node that was asked. It returns false if there is
// no room.
func (r *router) join(address string, asked int) (number int, ok bool) {
	r.nodes.Update([]protocol.Node{{Address: address}}, false, r.nodes.At(asked))
	number = slices.IndexFunc(r.nodes.All(), func(t protocol.Target) bool { return t.Address == address })
	if number < 0 {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers[address] = number
	return number, true
}

// topology is the assignment of slots to nodes, as one node of the cluster sees it.
type topology struct {
	asked string // id of the node that was asked; "" if unknown
	nodes []node // masters first, without duplicates
	spans []span
}

// node is a member of the cluster.
type node struct{ id, address string }

// span is a range of slots from first to last with its master and replicas, as indexes of nodes.
type span struct {
	first, last, node int
	replicas          []int
}

// askTopology runs CLUSTER SLOTS and CLUSTER MYID on a node.
func askTopology(ctx context.Context, t protocol.Target, o *options) (*topology, *protocol.Error) {
	client := goredis.NewClient(libraryOptions(t, o).Simple())
	defer client.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	//lint:ignore SA1019 CLUSTER SHARDS, which replaces it, needs Redis 7
	slots, err := client.ClusterSlots(ctx).Result()
	if err != nil {
		if answer, ok := err.(goredis.Error); ok {
			f := serverFailure([]byte(answer.Error()))
			return nil, &protocol.Error{Class: protocol.Connect, Code: f.Code, Fatal: true, Err: err, Text: protocol.Line(
				fmt.Sprintf("%s doesn't say who is in its cluster: %s; leave out option mode=cluster for a single server",
					t.Address, f.Text), t.Password)}
		}
		return nil, protocol.Unconnected(socket.Explain(ctx, t.Address, err))
	}
	// Not every server with slots supports this command. Without the id, a node is recognized by its address only.
	id, _ := client.Do(ctx, "CLUSTER", "MYID").Text()
	return topologyOf(id, slots, t.Address), nil
}

// libraryOptions returns options for a client with one connection that doesn't retry or sleep by itself.
func libraryOptions(t protocol.Target, o *options) *goredis.UniversalOptions {
	return &goredis.UniversalOptions{
		Addrs: []string{t.Address}, Username: t.User, Password: t.Password, DB: o.database, Protocol: o.protocol(),
		TLSConfig:  t.TLS,
		PoolSize:   1,
		MaxRetries: -1, DialerRetries: 1, MinRetryBackoff: -1, MaxRetryBackoff: -1,
		DialTimeout: t.ConnectTime(), ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// topologyOf parses the answer of the node at the given address. Hosts that the answer leaves out are taken from
// that address.
func topologyOf(id string, slots []goredis.ClusterSlot, address string) *topology {
	host, _, _ := net.SplitHostPort(address)
	out := &topology{asked: id}
	known := map[string]int{}
	add := func(n goredis.ClusterNode) int {
		h, port, err := net.SplitHostPort(n.Addr)
		if err == nil && (h == "" || h == "?") {
			n.Addr = net.JoinHostPort(host, port)
		}
		if at, ok := known[n.Addr]; ok {
			return at
		}
		known[n.Addr] = len(out.nodes)
		out.nodes = append(out.nodes, node{n.ID, n.Addr})
		return len(out.nodes) - 1
	}
	for _, s := range slots {
		if len(s.Nodes) > 0 && s.Start >= 0 && s.Start <= s.End && s.End < Slots {
			out.spans = append(out.spans, span{first: s.Start, last: s.End, node: add(s.Nodes[0])})
		}
	}
	for _, s := range slots {
		var replicas []int
		for i, n := range s.Nodes {
			if at := add(n); i > 0 {
				replicas = append(replicas, at)
			}
		}
		for i := range out.spans {
			if out.spans[i].first == s.Start {
				out.spans[i].replicas = replicas
			}
		}
	}
	return out
}

// is reports whether n is the node that was asked at the given address.
func (s *topology) is(n *node, address string) bool {
	return n.address == address || n.id == s.asked && n.id != ""
}

// targets returns all nodes as targets like t. The node that was asked keeps t's address; if it isn't among the
// nodes, t comes first.
func (s *topology) targets(t protocol.Target) (out []protocol.Target) {
	found := false
	for i := range s.nodes {
		target := t
		if !s.is(&s.nodes[i], t.Address) {
			target.Address = s.nodes[i].address
		} else if found {
			continue
		} else {
			found = true
		}
		out = append(out, target)
	}
	if !found {
		out = append([]protocol.Target{t}, out...)
	}
	return out
}

var _ protocol.Expander = (*Driver)(nil)

// Expand returns all nodes of the cluster that the target belongs to, masters first. The node asked keeps its
// given address. Replicas are included because they may become masters. For other targets, Expand returns the
// target alone.
func (*Driver) Expand(ctx context.Context, t protocol.Target) ([]protocol.Target, error) {
	o, refused := parseOptions(t)
	if refused != nil {
		return nil, refused
	}
	if !o.cluster {
		return []protocol.Target{t}, nil
	}
	seen, refused := askTopology(ctx, t, o)
	if refused != nil {
		return nil, refused
	}
	return seen.targets(t), nil
}
