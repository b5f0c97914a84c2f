package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// SumChange is the change of an operation's mean response time, and of its parts.
type SumChange struct {
	Operation string
	Base      float64 // ns
	Candidate float64
	Parts     []record.TimePart // changes, the greatest first
}

// The least changes that are told.
const (
	leastSum  = 0.05 // of the mean response time
	leastPart = 0.1  // of the change
	mostParts = 3
)

// sumChanges returns the changes of the means over the runs of each side, those of operations that all runs know.
func sumChanges(base, candidate []*result.Result) (out []SumChange) {
	for _, s := range base[0].Sums {
		before, ok := meanSum(base, s.Operation)
		after, known := meanSum(candidate, s.Operation)
		if !ok || !known || math.Abs(after.MeanNs-before.MeanNs) <= leastSum*before.MeanNs {
			continue
		}
		change := SumChange{Operation: s.Operation, Base: before.MeanNs, Candidate: after.MeanNs}
		for _, kind := range record.TimeKinds() {
			if d := after.Of(kind) - before.Of(kind); d != 0 {
				change.Parts = append(change.Parts, record.TimePart{Kind: kind, Ns: d})
			}
		}
		up := change.Candidate > change.Base
		slices.SortStableFunc(change.Parts, func(a, b record.TimePart) int {
			if up {
				return cmp.Compare(b.Ns, a.Ns)
			}
			return cmp.Compare(a.Ns, b.Ns)
		})
		out = append(out, change)
	}
	return out
}

// meanSum returns the mean of an operation's sums over runs. ok is false if a run doesn't know it.
func meanSum(runs []*result.Result, operation string) (mean record.ResponseSum, ok bool) {
	n := float64(len(runs))
	parts := map[string]float64{}
	for _, r := range runs {
		k := slices.IndexFunc(r.Sums, func(s record.ResponseSum) bool { return s.Operation == operation })
		if k < 0 {
			return mean, false
		}
		mean.MeanNs += r.Sums[k].MeanNs / n
		for _, p := range r.Sums[k].Parts {
			parts[p.Kind] += p.Ns / n
		}
	}
	for _, kind := range record.TimeKinds() {
		if parts[kind] > 0 {
			mean.Parts = append(mean.Parts, record.TimePart{Kind: kind, Ns: parts[kind]})
		}
	}
	return mean, true
}

// Sentence says by how much the mean rose or fell, and what of that were which parts.
func (s *SumChange) Sentence(l units.Language) string {
	change := s.Candidate - s.Base
	figure := func(ns float64) string { return l.Figure(units.Latency(math.Abs(ns))) }
	text := message.Label(l, "the mean rose by %s", figure(change))
	if change < 0 {
		text = message.Label(l, "the mean fell by %s", figure(change))
	}
	var of []string
	for _, p := range s.Parts[:min(len(s.Parts), mostParts)] {
		if p.Ns/change >= leastPart {
			of = append(of, figure(p.Ns)+" "+message.Label(l, record.TimeName(p.Kind)))
		}
	}
	if len(of) == 0 {
		return text
	}
	return text + ": " + strings.Join(of, ", ")
}

// sums is the table of what changed in the responses.
func (c *Comparison) sums(l units.Language) cell.Table {
	t := cell.Table{ID: "responses", Title: message.Label(l, "RESPONSE"),
		Note: message.Label(l, "what its mean is made of"),
		Columns: []cell.Column{{Head: message.Label(l, "operation"), Left: true}, {Head: message.Label(l, "base")},
			{Head: message.Label(l, "candidate")}, {Head: message.Label(l, "change"), Left: true, Wrap: true, Short: true}}}
	for i := range c.Sums {
		s := &c.Sums[i]
		t.Add(cell.Text(units.Clean(s.Operation)), cell.Time(s.Base), cell.Time(s.Candidate), cell.Text(s.Sentence(l)))
	}
	return t
}

// FunctionChange is the change of a function's own share of a service's processor time.
type FunctionChange struct {
	Name            string
	Base, Candidate float64
}

const (
	leastShare    = 0.01 // of the processor time
	mostFunctions = 15
)

// functionChanges returns the changes of functions between the profiles of both sides, in the mean over their runs.
func functionChanges(base, candidate []*result.Result) (out []FunctionChange) {
	before, after := functionShares(base), functionShares(candidate)
	if before == nil || after == nil {
		return nil
	}
	for _, shares := range []map[string]float64{before, after} {
		for name := range shares {
			f := FunctionChange{name, before[name], after[name]}
			if math.Abs(f.Candidate-f.Base) >= leastShare && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b FunctionChange) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Candidate-b.Base), math.Abs(a.Candidate-a.Base)), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), mostFunctions)]
}

// functionShares returns the functions' own shares of the processor time, in the mean over the runs that have profiles;
// nil if none has.
func functionShares(runs []*result.Result) (shares map[string]float64) {
	profiled := 0
	for _, r := range runs {
		if len(r.Profiles) > 0 {
			profiled++
		}
	}
	for _, r := range runs {
		for _, p := range r.Profiles {
			if shares == nil {
				shares = map[string]float64{}
			}
			for _, f := range p.Functions {
				shares[f.Name] += f.Own / float64(profiled*len(r.Profiles))
			}
		}
	}
	return shares
}

// functions is the table of functions whose share of the processor time changed.
func (c *Comparison) functions(l units.Language) cell.Table {
	t := cell.Table{ID: "functions", Title: message.Label(l, "FUNCTIONS"),
		Note: message.Label(l, "share of the service's processor time, without the functions that they call"),
		Columns: []cell.Column{{Head: message.Label(l, "function"), Left: true, Wrap: true, Short: true},
			{Head: message.Label(l, "base")}, {Head: message.Label(l, "candidate")}}}
	for _, f := range c.Functions {
		t.Add(cell.Text(units.Clean(f.Name)), cell.Figure(f.Base, "share"), cell.Figure(f.Candidate, "share"))
	}
	return t
}
