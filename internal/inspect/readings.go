package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"brunt/internal/record"
)

// Object names a thing whose statistics a server keeps, such as a table.
type Object struct{ Kind, Name string }

// Tally holds the sums over all executions of one statement.
type Tally struct {
	Text                 string
	Calls, Rows, TotalNs float64
	More                 map[string]float64 // further sums, by the server's names
}

// Reading holds a server's statistics at one moment. Epoch changes when the server starts again.
type Reading struct {
	At         time.Time
	Epoch      string
	Statements map[string]Tally // by ID
	Objects    map[Object]map[string]float64
}

// Readings turns readings into windows, one for each phase. Gauges tells which figures may also decrease: a window
// has their value at its end, and of all others the increase. A counter that has decreased was reset in between, so its
// whole value counts.
type Readings struct {
	Gauges func(kind, figure string) bool

	first, last *Reading
	seen        *Reading // the latest one, between snapshots
	phases      []window
	reset       bool
}

type window struct {
	phase      Phase
	took       time.Duration
	statements map[string]Tally
	counters   map[Object]map[string]float64
}

// Add adds the latest reading. A phase may end there.
func (r *Readings) Add(reading *Reading) {
	r.Follow(reading)
	r.last = reading
}

// Follow notes a reading between those of Add, to lose less if the server starts again or its counters are reset.
func (r *Readings) Follow(reading *Reading) {
	if r.first == nil {
		r.first, r.last = reading, reading
	}
	if before := r.seen; before != nil && anew(before, reading) {
		// What was counted up to the restart is kept, from then on everything counts.
		r.reset = true
		r.phases = append(r.phases, r.between(r.first, before, Phase{restarted, false}))
		r.first = &Reading{At: before.At, Epoch: reading.Epoch}
		r.last = r.first
	}
	r.seen = reading
}

// anew reports whether the counting began from 0 again between two readings.
func anew(before, after *Reading) bool {
	if before.Epoch != after.Epoch {
		return true
	}
	for id, t := range after.Statements {
		if t.Calls < before.Statements[id].Calls {
			return true
		}
	}
	return false
}

// restarted is the phase of what was counted in a phase before the server started again.
const restarted = "\x00restarted"

// Last returns the latest reading; nil if there is none.
func (r *Readings) Last() *Reading { return r.last }

// Reset reports whether the server started again, or counters decreased, between two readings.
func (r *Readings) Reset() bool { return r.reset }

// Mark ends a phase at the last reading.
func (r *Readings) Mark(phase Phase) {
	if r.last == nil {
		return
	}
	w := r.between(r.first, r.last, phase)
	for n := len(r.phases); n > 0 && r.phases[n-1].phase.Name == restarted; n-- {
		before := r.phases[n-1]
		r.phases = r.phases[:n-1]
		before.phase = phase
		w = r.joined([]window{before, w})
	}
	w.phase = phase
	r.phases = append(r.phases, w)
	r.first = r.last
}

func (r *Readings) between(from, to *Reading, phase Phase) window {
	w := window{phase: phase, took: to.At.Sub(from.At), statements: map[string]Tally{},
		counters: map[Object]map[string]float64{}}
	for id, t := range to.Statements {
		before := from.Statements[id]
		if before.Calls > t.Calls {
			before, r.reset = Tally{}, true
		}
		d := Tally{Text: t.Text, Calls: t.Calls - before.Calls, Rows: t.Rows - before.Rows,
			TotalNs: t.TotalNs - before.TotalNs, More: map[string]float64{}}
		for name, x := range t.More {
			d.More[name] = x - before.More[name]
		}
		if d.Calls > 0 {
			w.statements[id] = d
		}
	}
	for object, figures := range to.Objects {
		values := make(map[string]float64, len(figures))
		for name, x := range figures {
			if before := from.Objects[object][name]; !r.gauge(object.Kind, name) {
				if before <= x {
					x -= before
				} else {
					r.reset = true
				}
			}
			values[name] = x
		}
		w.counters[object] = values
	}
	return w
}

func (r *Readings) gauge(kind, figure string) bool { return r.Gauges != nil && r.Gauges(kind, figure) }

// joined combines several windows into one. Gauges have the value of the last.
func (r *Readings) joined(all []window) window {
	out := window{statements: map[string]Tally{}, counters: map[Object]map[string]float64{}}
	for _, w := range all {
		out.took += w.took
		for id, t := range w.statements {
			sum := out.statements[id]
			more := maps.Clone(t.More)
			for name, x := range sum.More {
				more[name] += x
			}
			out.statements[id] = Tally{Text: t.Text, Calls: sum.Calls + t.Calls, Rows: sum.Rows + t.Rows,
				TotalNs: sum.TotalNs + t.TotalNs, More: more}
		}
		for object, values := range w.counters {
			sum := out.counters[object]
			if sum == nil {
				sum = map[string]float64{}
				out.counters[object] = sum
			}
			for name, x := range values {
				if !r.gauge(object.Kind, name) {
					x += sum[name]
				}
				sum[name] = x
			}
		}
	}
	return out
}

// Together combines the readings of several servers, whose phases are the same. Statements and objects of the same
// name are added up.
func Together(all []*Readings) *Readings {
	out := &Readings{}
	for _, r := range all {
		out.Gauges, out.reset = r.Gauges, out.reset || r.reset
		for i, w := range r.phases {
			if i == len(out.phases) {
				out.phases = append(out.phases, w)
				continue
			}
			sum := out.joined([]window{out.phases[i], w})
			sum.phase, sum.took = w.phase, max(out.phases[i].took, w.took)
			out.phases[i] = sum
		}
	}
	return out
}

// Windows returns a window of the load without its warm-up and, if there are several phases, one for each of them.
// Statements are matched with the operations of the load; see Match.
func (r *Readings) Windows(operations []Operation, normal func(string) string) []record.ServerWindow {
	return r.Matched(Match(r.Whole(), operations, normal))
}

// Whole returns the statements of the whole load, warm-up included.
func (r *Readings) Whole() []record.Statement {
	whole := r.joined(r.phases)
	return whole.list()
}

// Matched returns the windows as Windows does, for statements that have been matched.
func (r *Readings) Matched(matched Matches) []record.ServerWindow {
	var load []window
	for _, p := range r.phases {
		if !p.phase.WarmUp {
			load = append(load, p)
		}
	}
	all := r.joined(load)
	out := []record.ServerWindow{all.record(matched)}
	if len(r.phases) > 1 {
		for k := range r.phases {
			out = append(out, r.phases[k].record(matched))
		}
	}
	return out
}

func (w *window) record(matched Matches) record.ServerWindow {
	out := record.ServerWindow{Phase: w.phase.Name, WarmUp: w.phase.WarmUp, DurationNs: int64(w.took),
		Statements: w.list()}
	matched.Put(out.Statements)
	for object, values := range w.counters {
		out.Counters = append(out.Counters, record.Counters{Kind: object.Kind, Name: object.Name, Values: values})
	}
	slices.SortFunc(out.Counters, func(a, b record.Counters) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// list returns the window's statements, most time first.
func (w *window) list() (out []record.Statement) {
	sum := 0.0
	for id, t := range w.statements {
		sum += t.TotalNs
		s := record.Statement{ID: id, Text: t.Text, Calls: t.Calls, Rows: t.Rows, TotalNs: t.TotalNs,
			MeanNs: t.TotalNs / t.Calls, More: map[string]float64{}}
		for name, x := range t.More {
			if x != 0 {
				s.More[name] = x
			}
		}
		out = append(out, s)
	}
	for i := range out {
		out[i].Share = out[i].TotalNs / max(sum, 1)
	}
	slices.SortFunc(out, func(a, b record.Statement) int {
		return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Figures returns the figures of one object in a window; nil if it has none. The name "" matches any object.
func Figures(w *record.ServerWindow, kind, name string) map[string]float64 {
	for i := range w.Counters {
		if c := &w.Counters[i]; c.Kind == kind && (name == "" || c.Name == name) {
			return c.Values
		}
	}
	return nil
}

// Rank sorts findings: the most severe first, and of equal ones those with the largest share.
func Rank(findings []record.Finding) {
	rank := []string{record.Critical, record.Serious, record.Minor}
	slices.SortStableFunc(findings, func(a, b record.Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)),
			cmp.Compare(max(b.Share, b.Effect), max(a.Share, a.Effect)))
	})
}

// Grave returns the severity of a problem with a share of the server's time.
func Grave(share float64) string {
	switch {
	case share >= 0.1:
		return record.Critical
	case share >= 0.01:
		return record.Serious
	}
	return record.Minor
}
