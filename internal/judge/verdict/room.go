package verdict

import (
	"time"

	"brunt/internal/record"
)

// roomyFloors returns how much the generator's own lag may add to the median and to the tail if the rules hold with a
// margin; see roomy. Chosen: two ticks of the scheduler for the tail on event loops, and far below what a starved,
// stopped or throttled generator adds.
func roomyFloors(run *record.Run) (median, tail time.Duration) {
	if run.OnLoops() {
		return time.Millisecond, 8 * time.Millisecond
	}
	return 2 * time.Millisecond, 10 * time.Millisecond
}

// roomy reports whether the run's rules would hold even if the generator's lag up to a quantile were doubled. That
// requires a rule on the response times of all arrivals at that quantile or above, that (nearly) everything was sent
// while it was due, and that each rule on response times is farther from its limit than the lag that was added, at the
// rule's own quantile and at the given one.
func (j *judge) roomy(quantile float64) bool {
	if late := j.load.Overdue + j.all.Dropped(); float64(late) > givenUpLimit*float64(j.load.Offered) {
		return false
	}
	covered := false
	for i := range j.run.Thresholds {
		t := j.rules[i]
		if t == nil || !j.run.Thresholds[i].Pass {
			return false
		}
		if t.Metric != "response" || t.Comparison != "<" && t.Comparison != "<=" {
			continue
		}
		value := Evaluate(t, j.run.OperationNames(), j.load).Value
		added := max(value-j.withoutLag(t).Value, float64(j.added(quantile)))
		if value+added >= t.Limit {
			return false
		}
		above := t.Aggregate == "max" || t.Aggregate == "p" && t.Quantile >= 100*quantile
		covered = covered || above && !t.OK && t.Operation == ""
	}
	return covered
}
