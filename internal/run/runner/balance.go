package runner

import (
	"fmt"
	"sync"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
	"brunt/internal/record"
)

// where returns how the load is distributed over the nodes.
func (r *Runner) where() (w engine.Where, err error) {
	p := r.system.Plan
	b := &p.Target.Balance
	_, weights := p.Target.Weighted()
	o := balance.Options{
		Mode: b.Mode, Weights: weights, Seed: p.Seed, Bound: b.Bound, Window: b.Window, Zone: b.Zone, Zones: b.Zones,
		SlowStart: b.SlowStart, Now: r.clock.Now,
	}
	w = engine.Where{Targets: r.system.Targets, Nodes: r.nodes, DropLeaving: p.Target.Topology.Leaving == "drop"}
	switch {
	case p.ByRequest():
		w.RequestsBy, err = balance.NewBalancer(o, r.nodes)
		if err == nil && b.Mode == "bucket" {
			r.buckets, err = r.newBuckets(w.RequestsBy)
		}
	case b.Mode == "" || balance.IsPolicy(b.Mode):
		w.Balance, err = balance.New(b.Mode, r.nodes.Len(), weights, p.Seed)
	default:
		w.SessionsBy, err = balance.NewBalancer(o, r.nodes)
	}
	return w, err
}

// peers reports whether all addresses serve the same requests. They don't if requests name their addresses, if the
// protocol knows where keys are, or if operations are for nodes of one role.
func (r *Runner) peers() bool {
	d, ok := r.system.Driver.(protocol.Routed)
	return !r.system.Plan.Routed() && (!ok || d.Router(r.nodes, &r.Workload.Program) == nil)
}

// arrivals contains the nodes that have joined, and warnings about them, until they are in the record.
type arrivals struct {
	mu       sync.Mutex
	new      []protocol.Target
	warnings []record.Warning
}

// note adds a warning. It is safe for concurrent use.
func (a *arrivals) note(w record.Warning) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, w)
}

// joined adds a node that has joined as an address of the record. It is safe for concurrent use.
func (r *Runner) joined(number int, t protocol.Target) {
	r.arrivals.mu.Lock()
	r.arrivals.new = append(r.arrivals.new, t)
	r.arrivals.mu.Unlock()
	r.collector.Show(number + 1)
}

// changed adds changes of the nodes to the record. It is safe for concurrent use.
func (r *Runner) changed(changes []protocol.Change) {
	for _, c := range changes {
		c.Address = r.unproxied(c.Address)
		r.collector.Note(measure.Event{AtNs: r.clock.Now(), Kind: "node", Text: changeText(c)})
	}
}

func changeText(c protocol.Change) string {
	switch c.What {
	case protocol.Joined:
		if c.Role != protocol.AnyRole {
			return fmt.Sprintf("%s has joined as %s", c.Address, c.Role)
		}
		return c.Address + " has joined"
	case protocol.Left:
		return c.Address + " has left"
	}
	return fmt.Sprintf("%s is %s now", c.Address, c.Role)
}

// joins adds the nodes that have joined to the record, before the interval in which they joined.
type joins struct{ runner *Runner }

// Interval implements measure.Sink.
func (j joins) Interval(*measure.Interval) error {
	r := j.runner
	r.arrivals.mu.Lock()
	arrived, warnings := r.arrivals.new, r.arrivals.warnings
	r.arrivals.new, r.arrivals.warnings = nil, nil
	r.arrivals.mu.Unlock()
	for _, w := range warnings {
		r.warn(w)
	}
	if len(arrived) == 0 {
		return nil
	}
	for _, t := range arrived {
		r.Record.Targets = append(r.Record.Targets,
			record.Target{Address: t.Address, Protocol: r.system.Plan.Target.Protocol})
	}
	return r.bundle.Update(r.Record)
}
