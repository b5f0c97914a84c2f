package target

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/topology"
)

// discover creates the source of the topology if the plan names one or needs roles. It sets the targets to the
// nodes that the source returns.
func (s *System) discover(ctx context.Context) error {
	t := &s.Plan.Target.Topology
	routed := s.Plan.Routed()
	if t.Source == "" && routed {
		t.Source = "roles"
	}
	if t.Source == "" {
		return nil
	}
	from := t.From
	if len(from) == 0 {
		for _, target := range s.Targets {
			from = append(from, target.Address)
		}
	}
	source, err := topology.New(topology.Options{
		Source: t.Source, From: from, Name: t.Name, Resolver: t.Resolver, Port: s.Protocol.Port,
		Driver: s.Driver, Like: s.Targets[0], Roles: routed,
		Nodes: func() (addresses []string) {
			for _, target := range s.Nodes().All() {
				addresses = append(addresses, target.Address)
			}
			return addresses
		},
	})
	if err != nil {
		return &UsageError{err}
	}
	s.Topology = source
	if t.Source == "roles" {
		return nil
	}
	nodes, _, err := source.Discover(ctx)
	if err != nil {
		return &UnreachableError{fmt.Errorf("topology %s: %s", t.Source, protocol.Line(err.Error(), s.Plan.Target.Password))}
	}
	if len(nodes) == 0 {
		return &UsageError{fmt.Errorf("topology %s: %s returns no node; check the name, and that the cluster is up", t.Source,
			strings.Join(from, ", "))}
	}
	like := s.Targets[0]
	s.Targets = nil
	for _, n := range nodes {
		like.Address = n.Address
		s.Targets = append(s.Targets, like)
	}
	return nil
}

// Every returns the interval at which to look for nodes.
func (s *System) Every() time.Duration { return cmp.Or(s.Plan.Target.Topology.Every, 5*time.Second) }

// Nodes returns the nodes for a load, with room for nodes that join during it. Every call returns the same
// value.
func (s *System) Nodes() *protocol.Nodes {
	if s.nodes == nil {
		room := s.Plan.Target.Topology.Room
		_, grows := s.Driver.(protocol.Expander)
		if room == 0 && (grows || s.Plan.Target.Topology.Source != "") {
			room = defaultRoom
		}
		s.nodes = protocol.NewNodes(s.Targets, room)
	}
	return s.nodes
}

// defaultRoom is the default number of nodes that may join during a load.
const defaultRoom = 16
