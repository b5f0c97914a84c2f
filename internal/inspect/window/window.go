// Package window computes what a server counted during each phase of a load, from snapshots of its counters. It is
// shared by the inspectors of servers whose statistics are numbers with names.
package window

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// Key names an object of a server: its kind and its name.
type Key struct{ Kind, Name string }

// Snapshot is what a server's statistics said at one moment.
type Snapshot struct {
	At       time.Time
	Counters map[Key]map[string]float64    // increase from the server's start
	Gauges   map[Key]map[string]float64    // current values
	Calls    map[string]map[string]float64 // counters of statements, commands or methods, by ID; see Statement
}

// Part is a part of the load: the increase of counters, and gauges at its end.
type Part struct {
	Phase    inspect.Phase
	Took     time.Duration
	Counters map[Key]map[string]float64
	Gauges   map[Key]map[string]float64
	Calls    map[string]map[string]float64
	Resets   int // how often counters of an object decreased
}

// Phases collects the parts of a load. The zero value is ready for use.
type Phases struct {
	first, last *Snapshot
	parts       []Part
	open        Part // the current phase, up to last
}

// Add adds a snapshot. The first one begins the load.
func (p *Phases) Add(s *Snapshot) {
	if p.last != nil {
		p.open = join([]Part{p.open, between(p.last, s)})
	}
	p.last = s
}

// Last returns the latest snapshot; nil if there is none.
func (p *Phases) Last() *Snapshot { return p.last }

// Mark ends a phase at the last snapshot.
func (p *Phases) Mark(phase inspect.Phase) {
	p.open.Phase = phase
	p.parts = append(p.parts, p.open)
	p.open = Part{}
}

// Load returns the load without its warm-up.
func (p *Phases) Load() Part {
	var load []Part
	for _, part := range p.parts {
		if !part.Phase.WarmUp {
			load = append(load, part)
		}
	}
	return join(load)
}

// Parts returns the phases, if there are several.
func (p *Phases) Parts() []Part {
	if len(p.parts) < 2 {
		return nil
	}
	return p.parts
}

// All returns the load with its warm-up.
func (p *Phases) All() Part { return join(p.parts) }

// Record returns the windows of the record: the load without its warm-up, followed by the phases if there are several.
// statements returns the statements of a part.
func (p *Phases) Record(statements func(*Part) []record.Statement) []record.ServerWindow {
	all := append([]Part{p.Load()}, p.Parts()...)
	var out []record.ServerWindow
	for i := range all {
		part := &all[i]
		w := record.ServerWindow{DurationNs: int64(part.Took), Counters: part.record()}
		if i > 0 {
			w.Phase, w.WarmUp = part.Phase.Name, part.Phase.WarmUp
		}
		if statements != nil {
			w.Statements = statements(part)
		}
		out = append(out, w)
	}
	return out
}

// record returns the counters and gauges for the record, by kind and name.
func (p *Part) record() (out []record.Counters) {
	keys := slices.Collect(maps.Keys(p.Counters))
	for k := range p.Gauges {
		if _, has := p.Counters[k]; !has {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	for _, k := range keys {
		values := map[string]float64{}
		maps.Copy(values, p.Counters[k])
		maps.Copy(values, p.Gauges[k])
		out = append(out, record.Counters{Kind: k.Kind, Name: k.Name, Values: values})
	}
	return out
}

// between returns what happened between two snapshots. A counter that decreased was reset meanwhile, and counts from
// 0; what it counted before the reset is lost.
func between(from, to *Snapshot) Part {
	p := Part{Took: to.At.Sub(from.At), Gauges: to.Gauges}
	p.Counters = since(to.Counters, from.Counters, &p.Resets)
	p.Calls = since(to.Calls, from.Calls, &p.Resets)
	return p
}

func since[K comparable](to, from map[K]map[string]float64, resets *int) map[K]map[string]float64 {
	out := make(map[K]map[string]float64, len(to))
	for k, values := range to {
		before := from[k]
		for name, v := range values {
			if v < before[name] {
				before = nil
				*resets++
				break
			}
		}
		d := make(map[string]float64, len(values))
		for name, v := range values {
			d[name] = v - before[name]
		}
		out[k] = d
	}
	return out
}

// join combines parts that follow each other. The gauges are those of the last one.
func join(all []Part) (out Part) {
	out.Counters, out.Calls = map[Key]map[string]float64{}, map[string]map[string]float64{}
	for i := range all {
		p := &all[i]
		out.Took, out.Resets = out.Took+p.Took, out.Resets+p.Resets
		add(out.Counters, p.Counters)
		add(out.Calls, p.Calls)
		if p.Gauges != nil {
			out.Gauges = p.Gauges
		}
	}
	return out
}

func add[K comparable](to, more map[K]map[string]float64) {
	for k, values := range more {
		sum := to[k]
		if sum == nil {
			sum = make(map[string]float64, len(values))
			to[k] = sum
		}
		for name, v := range values {
			sum[name] += v
		}
	}
}
