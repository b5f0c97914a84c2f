package verdict

import (
	"time"
)

// roomyFloors are what the generator's own lag may add to the median and the tail where the rules hold with room
// to spare. They stay far below what a generator that is starved, stopped or throttled adds.
func roomyFloors(tier string) (median, tail time.Duration) {
	if tier == "codec" {
		return time.Millisecond, 8 * time.Millisecond
	}
	return 2 * time.Millisecond, 10 * time.Millisecond
}

// roomy reports whether the run's rules hold whatever the generator added up to a quantile: there is one on the
// response times of all arrivals at that quantile or above, everything was sent while it was due, and each
// rule on response times is farther from its limit than what the generator added, there and at that quantile.
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
