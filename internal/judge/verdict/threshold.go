package verdict

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Outcome is the result of evaluating a rule.
type Outcome struct {
	Value float64 // in Unit; +Inf where the quantile lies among arrivals without a good answer
	Unit  string  // see metric.Metric.UnitOf
	Pass  bool
}

// Evaluate evaluates a rule over an account. names are the names of the account's operations, in order. If no operation
// was answered or failed, a rule on times has the value 0 and passes.
func Evaluate(r *metric.Rule, names []string, a *measure.Account) Outcome {
	return evaluate(r, names, a, (*measure.OperationAccount).Answers)
}

// evaluate is Evaluate with a choice of the answers that response times are taken from.
func evaluate(r *metric.Rule, names []string, a *measure.Account,
	answers func(*measure.OperationAccount) measure.Answers) Outcome {
	if metric.Find(r.Metric) == nil {
		return Outcome{}
	}
	all := selected(r.Operation, names, a)
	return evaluateOf(r, &all, a.LoadNs, answers)
}

// evaluateOf evaluates a rule over the operations that it selects, summed in all. loadNs is the length of the load.
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

// timesOf returns the times that a rule is about.
func timesOf(r *metric.Rule, all *measure.OperationAccount,
	answers func(*measure.OperationAccount) measure.Answers) (from measure.Answers) {
	if r.Metric == "response" && !r.OK {
		return answers(all)
	}
	times := all.Times()
	for i, d := range measure.Declared() {
		if d.Metric == r.Metric {
			from.Times = *times[i]
		}
	}
	return from
}

// Beyond returns how many of the times that a rule is about exceed its limit, and how many times there are. Arrivals
// without a good answer count as exceeding it. Response times are taken without the generator's own lag, since callers
// draw conclusions about the server from the counts.
func Beyond(r *metric.Rule, names []string, a *measure.Account) (beyond, of uint64) {
	all := selected(r.Operation, names, a)
	from := timesOf(r, &all, func(o *measure.OperationAccount) measure.Answers {
		return measure.Answers{Times: o.WithoutGenerator, NoAnswer: o.NoAnswer()}
	})
	return from.Times.CountAbove(int64(min(r.Limit, math.MaxInt64/2))) + from.NoAnswer, from.Times.Count() + from.NoAnswer
}

// selected returns the sum of the operations with this name, or of all operations for "".
func selected(name string, names []string, a *measure.Account) (all measure.OperationAccount) {
	for i := range a.Operations {
		if name == "" || i < len(names) && names[i] == name {
			all.Add(&a.Operations[i])
		}
	}
	return all
}

// aggregate returns the figure that the rule asks for. The average and the minimum cover answered arrivals only.
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

// failure is a reason why a run failed.
type failure struct {
	servers bool // the cause can't be a generator that is late or busy
	certain bool // the cause can't be a generator that was stopped, either: the servers' data are wrong
	text    message.Message
}

func messages(all []failure) (out []message.Message) {
	for _, f := range all {
		out = append(out, f.text)
	}
	return out
}

// serversDoing reports whether one of the failures can't have been caused by the generator. Wrong data never are. If
// the generator was only late or busy, it also can't have caused error answers, refused connections, a load without any
// success, or times far above the lag that it added. If it stood still or was held back, it can: servers disconnect
// clients that keep them waiting.
func (j *judge) serversDoing(failed []failure) bool {
	h := &j.load.Health
	steady := j.run.Complete && !j.stoodStill() && j.timeShare(h.HeldNs) <= heldLimit &&
		j.timeShare(h.CgroupThrottledNs) <= throttledLimit
	return slices.ContainsFunc(failed, func(f failure) bool { return f.certain || steady && f.servers })
}

// errorsBreak reports whether the server's own errors are enough to break a rule.
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

// slowAnyway reports whether a rule on response times is broken even without the generator's lag, and whether that lag
// is at most a small share (medianShare) of the value.
func (j *judge) slowAnyway(r *metric.Rule) bool {
	if r == nil || r.Metric != "response" || r.OK {
		return false
	}
	o := j.withoutLag(r)
	return !o.Pass && o.Value >= (1-medianShare)*Evaluate(r, j.run.OperationNames(), j.load).Value
}

// refused reports whether the server, or its machine's kernel, refused connections.
func (j *judge) refused() bool {
	return slices.ContainsFunc(j.run.Failures, record.FailureCount.RefusedConnection)
}
