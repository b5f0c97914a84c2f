package verdict

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// Outcome is what came of a rule.
type Outcome struct {
	Value float64 // in Unit; +Inf where the quantile lies among arrivals without a good answer
	Unit  string  // see metric.Metric.UnitOf
	Pass  bool
}

// Evaluate judges a rule over an account whose operations have these names. Times of nothing, neither answered nor
// failed, are 0, and their rule holds.
func Evaluate(r *metric.Rule, names []string, a *measure.Account) Outcome {
	return evaluate(r, names, a, (*measure.OperationAccount).Answers)
}

// evaluate is Evaluate with the answers that response times are taken from.
func evaluate(r *metric.Rule, names []string, a *measure.Account,
	answers func(*measure.OperationAccount) measure.Answers) Outcome {
	if metric.Find(r.Metric) == nil {
		return Outcome{}
	}
	all := selected(r.Operation, names, a)
	return evaluateOf(r, &all, a.LoadNs, answers)
}

// evaluateOf judges a rule over the operations that it is about, and a load that lasted so long.
func evaluateOf(r *metric.Rule, all *measure.OperationAccount, loadNs int64,
	answers func(*measure.OperationAccount) measure.Answers) Outcome {
	m := metric.Find(r.Metric)
	o := Outcome{Unit: m.UnitOf(r.Aggregate)}
	if !m.Times {
		o.Value = m.Of(all.Number, loadNs, r.Aggregate)
		o.Pass = metric.Holds(o.Value, r.Comparison, r.Limit)
		return o
	}
	from := timesOf(r, all, answers)
	o.Value = aggregate(from, r)
	o.Pass = metric.Holds(o.Value, r.Comparison, r.Limit)
	if from.Times.Count() == 0 && from.NoAnswer == 0 {
		o.Pass = all.Arrivals() == 0
	}
	return o
}

// timesOf are the times that a rule is about.
func timesOf(r *metric.Rule, all *measure.OperationAccount,
	answers func(*measure.OperationAccount) measure.Answers) (from measure.Answers) {
	switch {
	case r.Metric == "service":
		from.Times = all.Service
	case r.Metric == "lag":
		from.Times = all.Lag
	case r.OK:
		from.Times = all.Response
	default:
		from = answers(all)
	}
	return from
}

// Beyond says how many of the times that a rule is about are beyond its limit, and of how many: arrivals without a good
// answer are. Response times are those without the generator's own lag: what is decided by them is about the server.
func Beyond(r *metric.Rule, names []string, a *measure.Account) (beyond, of uint64) {
	all := selected(r.Operation, names, a)
	from := timesOf(r, &all, func(o *measure.OperationAccount) measure.Answers {
		return measure.Answers{Times: o.WithoutGenerator, NoAnswer: o.NoAnswer()}
	})
	return from.Times.CountAbove(int64(min(r.Limit, math.MaxInt64/2))) + from.NoAnswer, from.Times.Count() + from.NoAnswer
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

// aggregate is the rule's figure of some times. The mean and the least are of those answered.
func aggregate(a measure.Answers, r *metric.Rule) float64 {
	answered := a.Times.Count() > 0 || a.NoAnswer == 0
	switch r.Aggregate {
	case "avg":
		if answered {
			return a.Times.Mean()
		}
		return math.Inf(1)
	case "min":
		if answered {
			return float64(a.Times.Min())
		}
		return math.Inf(1)
	case "max":
		return timeOf(a.Quantile(1))
	}
	return timeOf(a.Quantile(r.Quantile / 100))
}

func timeOf(ns int64) float64 {
	if ns == measure.Infinite {
		return math.Inf(1)
	}
	return float64(ns)
}

// failure is why a run failed.
type failure struct {
	servers bool // a generator that is late or busy can't be the cause
	certain bool // neither can one that was stopped: what the servers hold is wrong
	text    message.Message
}

func messages(all []failure) (out []message.Message) {
	for _, f := range all {
		out = append(out, f.text)
	}
	return out
}

// serversDoing reports whether the run failed by what the generator can't cause: data that are wrong, or, from one that
// is late or busy, errors with which the server answered, connections that it refused, no success at all, or times that
// are far beyond what it added. One that stood still or was held back can cause the latter: servers give up on clients
// that keep them waiting.
func (j *judge) serversDoing(failed []failure) bool {
	h := &j.load.Health
	steady := j.run.Complete && !j.stoodStill() && j.timeShare(h.HeldNs) <= heldLimit &&
		j.timeShare(h.CgroupThrottledNs) <= throttledLimit
	return slices.ContainsFunc(failed, func(f failure) bool { return f.certain || steady && f.servers })
}

// errorsBreak reports whether the server's own errors break a rule by themselves.
func (j *judge) errorsBreak(r *metric.Rule) bool {
	if r == nil || r.Metric != "errors" && r.Metric != "response" {
		return false
	}
	only := *j.load
	only.Operations = slices.Clone(only.Operations)
	for i := range only.Operations {
		only.Operations[i].Counts = only.Operations[i].OnlyServers(j.refused())
	}
	o := Evaluate(r, j.run.OperationNames(), &only)
	return !o.Pass && (r.Metric == "errors" || math.IsInf(o.Value, 1))
}

// slowAnyway reports whether a rule on response times is broken without what the generator added, too,
// and that is next to nothing next to them.
func (j *judge) slowAnyway(r *metric.Rule) bool {
	if r == nil || r.Metric != "response" || r.OK {
		return false
	}
	o := j.withoutLag(r)
	return !o.Pass && o.Value >= (1-medianShare)*Evaluate(r, j.run.OperationNames(), j.load).Value
}

// refused reports whether the server itself, or its machine in its place, refused connections.
func (j *judge) refused() bool {
	return slices.ContainsFunc(j.run.Failures, record.FailureCount.RefusedConnection)
}
