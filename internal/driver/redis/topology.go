package redis

import (
	"context"
	"fmt"
	"net"

	"brunt/internal/driver"
	"brunt/internal/socket"

	goredis "github.com/redis/go-redis/v9"
)

// topology is who serves which slots, as one node of a cluster sees it.
type topology struct {
	asked string // the id of the node that was asked; "" if it doesn't tell
	nodes []node // masters first, each once
	spans []span
}

// node is a member of the cluster.
type node struct{ id, address string }

// span is slots, first to last, and their master, an index of nodes.
type span struct{ first, last, node int }

// askTopology asks a node for CLUSTER SLOTS and CLUSTER MYID.
func askTopology(ctx context.Context, t driver.Target, o *options) (*topology, *driver.Error) {
	client := goredis.NewClient(libraryOptions(t, o).Simple())
	defer client.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	//lint:ignore SA1019 CLUSTER SHARDS, which replaces it, needs Redis 7
	slots, err := client.ClusterSlots(ctx).Result()
	if err != nil {
		if answer, ok := err.(goredis.Error); ok {
			f := serverFailure([]byte(answer.Error()))
			return nil, &driver.Error{Class: driver.Connect, Code: f.Code, Fatal: true, Err: err, Text: driver.Line(
				fmt.Sprintf("%s doesn't say who is in its cluster: %s; leave out option mode=cluster for a single server", t.Address, f.Text), t.Password)}
		}
		return nil, driver.Unconnected(socket.Explain(ctx, t.Address, err))
	}
	// Not every server that has slots knows this; the address must be the nodes' own then.
	id, _ := client.Do(ctx, "CLUSTER", "MYID").Text()
	return topologyOf(id, slots, t.Address), nil
}

// topologyOf reads the answer of the node at an address, which stands for hosts that it leaves out.
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
			out.spans = append(out.spans, span{s.Start, s.End, add(s.Nodes[0])})
		}
	}
	for _, s := range slots {
		for _, n := range s.Nodes {
			add(n)
		}
	}
	return out
}

// is reports whether a node is the one that was asked, at an address.
func (s *topology) is(n *node, address string) bool {
	return n.address == address || n.id == s.asked && n.id != ""
}

// targets is all nodes, as the target that was asked. A target that isn't among them comes first.
func (s *topology) targets(t driver.Target) (out []driver.Target) {
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
		out = append([]driver.Target{t}, out...)
	}
	return out
}

var _ driver.Expander = (*Driver)(nil)

// Expand returns all nodes of a cluster, masters first, for a target that is one of them; the node
// asked keeps the address given. Replicas are among them because they may become masters. Other
// targets stand for themselves.
func (*Driver) Expand(ctx context.Context, t driver.Target) ([]driver.Target, error) {
	o, refused := parseOptions(t)
	if refused != nil {
		return nil, refused
	}
	if !o.cluster {
		return []driver.Target{t}, nil
	}
	seen, refused := askTopology(ctx, t, o)
	if refused != nil {
		return nil, refused
	}
	return seen.targets(t), nil
}
