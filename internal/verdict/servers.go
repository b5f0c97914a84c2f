package verdict

import (
	"math"
	"slices"

	"brunt/internal/plan"
	"brunt/internal/record"
)

// failure is why a run failed, and whether only the server can have been the cause.
type failure struct {
	servers bool
	text    string
}

func texts(all []failure) (out []string) {
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
	o := Evaluate(&t, names(j.run), &only)
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
	return !o.Pass && o.Value >= (1-medianShare)*Evaluate(&t, names(j.run), j.load).Value
}

// refused reports whether the server itself, or its machine in its place, refused connections.
func (j *judge) refused() bool {
	return slices.ContainsFunc(j.run.Failures, record.FailureCount.RefusedConnection)
}
