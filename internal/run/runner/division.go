package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"brunt/internal/judge/verify"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// EventSplitBrain is the kind of the event that two nodes both take writes.
const EventSplitBrain = "split-brain"

// describe finds out which nodes take writes, once all readings are done. A node that can't be asked says nothing.
func (p *partition) describe(ctx context.Context) {
	p.about = make([]verify.Node, len(p.nodes))
	for i, n := range p.nodes {
		if number := slices.Index(p.addresses, p.name(n.target.Address)); number >= 0 {
			p.about[i].AckedSentNs = p.ackedNs[number]
		}
	}
	reader, ok := p.driver.(protocol.RoleReader)
	if !ok || p.one || len(p.nodes) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(askRoleWithin, p.how.Patience))
	defer cancel()
	var all sync.WaitGroup
	for i, n := range p.nodes {
		if n.gone {
			continue
		}
		all.Go(func() {
			role, err := reader.Role(ctx, n.target)
			p.about[i].Primary = err == nil && role == protocol.Primary
		})
	}
	all.Wait()
}

// askRoleWithin is how long a node may take to tell its role.
const askRoleWithin = 2 * time.Second

// nodesOf describes the nodes from which a key is read, in the order of its readings.
func (p *partition) nodesOf(key int) []verify.Node {
	if h := p.homes[key]; h >= 0 {
		return p.about[h : h+1]
	}
	return p.about
}

// nodeAt returns the number of the node with an address of the record; −1 if it isn't read.
func (p *partition) nodeAt(address int) int {
	if address < 0 || address >= len(p.addresses) {
		return -1
	}
	return slices.IndexFunc(p.nodes, func(n *node) bool { return p.name(n.target.Address) == p.addresses[address] })
}

// somewhere reports whether an address has the value of a key as it was written.
func (p *partition) somewhere(key int) bool {
	h, readings := p.of(key)
	return slices.ContainsFunc(readings, func(r verify.Reading) bool {
		m, _ := h.Match(r)
		return m == verify.Fits
	})
}

// recordDivisions adds the pairs of nodes that have gone separate ways.
func (b *readBack) recordDivisions() {
	for _, d := range b.divisions.Found() {
		b.v.Divisions = append(b.v.Divisions, record.Division{A: b.nodes[d.A].seen.Address, B: b.nodes[d.B].seen.Address,
			OnlyA: d.OnlyA, OnlyB: d.OnlyB, SinceNs: d.SinceNs})
	}
}

// addDivisions adds an event for each pair of addresses that reading back found divided.
func addDivisions(run *record.Run) {
	if run.Verified == nil {
		return
	}
	for _, d := range run.Verified.Divisions {
		run.Events = append(run.Events, record.Event{AtNs: d.SinceNs, Kind: EventSplitBrain, Text: fmt.Sprintf(
			"%s and %s have both acknowledged writes that the other one lacks (%d and %d)", d.A, d.B, d.OnlyA, d.OnlyB)})
	}
	slices.SortStableFunc(run.Events, func(a, b record.Event) int { return int(min(max(a.AtNs-b.AtNs, -1), 1)) })
}
