package verdict

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// Outcome is a threshold and what came of it.
type Outcome struct {
	Threshold plan.Threshold
	Value     float64 // in Unit; +Inf where the quantile lies among arrivals without a good answer
	Unit      string  // "ns", "fraction", "per_s" or "count"
	Pass      bool
}

// Evaluate judges a threshold over an account whose operations have these names. A latency of
// nothing, neither answered nor failed, holds: its value is 0.
func Evaluate(t *plan.Threshold, names []string, a *measure.Account) Outcome {
	return evaluate(t, names, a, (*measure.OperationAccount).Answers)
}

// evaluate is Evaluate with the answers that response times are taken from.
func evaluate(t *plan.Threshold, names []string, a *measure.Account, answers func(*measure.OperationAccount) measure.Answers) Outcome {
	o := Outcome{Threshold: *t}
	all := selected(t.Operation, names, a)
	c := &all.Counts
	switch t.Metric {
	case "response", "service", "lag":
		var from measure.Answers
		switch {
		case t.Metric == "service":
			from.Times = all.Service
		case t.Metric == "lag":
			from.Times = all.Lag
		case t.OK:
			from.Times = all.Response
		default:
			from = answers(&all)
		}
		o.Unit, o.Value = "ns", aggregate(from, t)
		if from.Times.Count() == 0 && from.NoAnswer == 0 {
			o.Pass = c.Arrivals() == 0
			return o
		}
	case "errors":
		o.Unit, o.Value = share(c.Failed(), c.Done, t.Aggregate)
	case "dropped":
		o.Unit, o.Value = share(c.Dropped(), c.Arrivals(), t.Aggregate)
	case "count":
		o.Unit, o.Value = "count", float64(c.Done)
	case "rate":
		o.Unit = "per_s"
		if a.LoadNs > 0 {
			o.Value = float64(c.OK()) / (float64(a.LoadNs) / 1e9)
		}
	}
	o.Pass = compare(o.Value, t.Comparison, t.Limit)
	return o
}

// selected is the sum of the operations with a name, or of all for "".
func selected(name string, names []string, a *measure.Account) (all measure.OperationAccount) {
	for i := range a.Operations {
		if name == "" || i < len(names) && names[i] == name {
			all.Add(&a.Operations[i])
		}
	}
	return all
}

func share(part, whole uint64, aggregate string) (unit string, value float64) {
	switch {
	case aggregate == "count":
		return "count", float64(part)
	case whole == 0:
		return "fraction", 0
	}
	return "fraction", float64(part) / float64(whole)
}

func compare(v float64, op string, limit float64) bool {
	switch op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	case "==":
		return v == limit
	default:
		return v != limit
	}
}

// aggregate is the threshold's figure of some times. The mean and the least are of those answered.
func aggregate(a measure.Answers, t *plan.Threshold) float64 {
	finite := a.Times
	switch t.Aggregate {
	case "avg":
		if finite.Count() > 0 || a.NoAnswer == 0 {
			return finite.Mean()
		}
		return math.Inf(1)
	case "min":
		if finite.Count() > 0 || a.NoAnswer == 0 {
			return float64(finite.Min())
		}
		return math.Inf(1)
	case "max":
		return timeOf(a.Quantile(1))
	}
	return timeOf(a.Quantile(t.Quantile / 100))
}

func timeOf(ns int64) float64 {
	if ns == measure.Infinite {
		return math.Inf(1)
	}
	return float64(ns)
}

// failure is why a run failed, and whether only the server can have been the cause.
type failure struct {
	servers bool
	text    message.Message
}

func messages(all []failure) (out []message.Message) {
	for _, f := range all {
		out = append(out, f.text)
	}
	return out
}

// serversDoing reports whether the run failed by what a generator that is late or busy can't cause: errors
// with which the server answered, connections that it refused, no success at all, or times that are far
// beyond what it added. One that stood still or was held back can: servers give up on clients that keep them
// waiting.
func (j *judge) serversDoing(failed []failure) bool {
	h := &j.load.Health
	return j.run.Complete && !j.stoodStill() && j.timeShare(h.HeldNs) <= heldLimit && j.timeShare(h.CgroupThrottledNs) <= throttledLimit &&
		slices.ContainsFunc(failed, func(f failure) bool { return f.servers })
}

// errorsBreak reports whether the server's own errors break a threshold by themselves.
func (j *judge) errorsBreak(text string) bool {
	t, err := plan.ParseThreshold(text)
	if err != nil || t.Metric != "errors" && t.Metric != "response" {
		return false
	}
	only := *j.load
	only.Operations = slices.Clone(only.Operations)
	for i := range only.Operations {
		only.Operations[i].Counts = only.Operations[i].OnlyServers(j.refused())
	}
	o := Evaluate(&t, j.run.OperationNames(), &only)
	return !o.Pass && (t.Metric == "errors" || math.IsInf(o.Value, 1))
}

// slowAnyway reports whether a threshold on response times is broken without what the generator added, too,
// and that is next to nothing beside them.
func (j *judge) slowAnyway(text string) bool {
	t, err := plan.ParseThreshold(text)
	if err != nil || t.Metric != "response" || t.OK {
		return false
	}
	o := j.withoutLag(&t)
	return !o.Pass && o.Value >= (1-medianShare)*Evaluate(&t, j.run.OperationNames(), j.load).Value
}

// refused reports whether the server itself, or its machine in its place, refused connections.
func (j *judge) refused() bool {
	return slices.ContainsFunc(j.run.Failures, record.FailureCount.RefusedConnection)
}
