package record

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// OtherOperations is the name of what a script did beyond the most operations that are told apart.
const OtherOperations = "other"

// Iterations are those of a script of k6.
type Iterations struct {
	Done    uint64 `json:"done" merge:"sum"`
	Dropped uint64 `json:"dropped" merge:"sum"` // because all VUs were busy
	Threw   uint64 `json:"threw" merge:"sum"`   // of Done, those that ended with an exception
}

// Aggregate is how a threshold of k6 comes to its value.
type Aggregate struct {
	How    string  `json:"how"`    // k6's word for it: "count", "rate", "avg", "p(95)" …
	Holds  string  `json:"holds"`  // if Value is so to Limit: "<", "<=", ">", ">=", "==", "===" or "!="
	Values float64 `json:"values"` // how many it is of; a counter's sum
}

func (a *Aggregate) holds(value, limit float64) bool {
	switch a.Holds {
	case "<":
		return value < limit
	case "<=":
		return value <= limit
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "!=":
		return value != limit
	}
	return value == limit
}

// mergeThresholds keeps the rules, and merges what came of those of scripts of k6, which k6 has judged of each part.
// It says what the parts' records can't tell of the whole.
func mergeThresholds(run *Run, parts []*Recorded) {
	run.Thresholds = slices.Clone(parts[0].Run.Thresholds)
	var split, bounds []string
	for i := range run.Thresholds {
		t := &run.Thresholds[i]
		if t.Aggregate == nil {
			continue
		}
		var of []Threshold
		for _, p := range parts {
			for _, o := range p.Run.Thresholds {
				if o.Text == t.Text && o.Aggregate != nil && o.Aggregate.Values != 0 {
					of = append(of, o)
				}
			}
		}
		switch exact := t.merge(of, run.DurationNs); {
		case exact:
		case t.Pass == of[0].Pass && !slices.ContainsFunc(of, func(o Threshold) bool { return o.Pass != t.Pass }):
			bounds = append(bounds, t.Text)
		default:
			split = append(split, t.Text)
		}
	}
	if len(bounds) > 0 {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-worst", Text: fmt.Sprintf("all parts agree on the thresholds %s, whose values are those of the worst part: the parts' records don't hold all values of these metrics", strings.Join(bounds, ", "))})
	}
	if len(split) > 0 {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-split", Text: fmt.Sprintf("the thresholds %s hold in some parts and not in others, and count as broken: the parts' records don't hold all values of these metrics", strings.Join(split, ", "))})
	}
	if other := func(p *Recorded) bool { return p.Run.operation(OtherOperations) >= 0 }; run.Iterations != nil && slices.ContainsFunc(parts, other) {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-other", Text: "parts counted operations beyond the most that they tell apart together, each part others: what some operations did is among these"})
	}
}

// Over gives a rule about a counter's rate, which k6 tells nobody once it has judged, its value over a load of that
// length.
func (t *Threshold) Over(durationNs int64) {
	if a := t.Aggregate; a != nil && a.How == "rate" && t.Unit == "per_s" {
		t.Value = Figure(share(a.Values, float64(durationNs)/1e9))
	}
}

// merge makes t what it is over all parts, of which of are those that had values. It reports whether t's value is
// the whole's, and not the worst of the parts'.
func (t *Threshold) merge(of []Threshold, durationNs int64) bool {
	if len(of) == 0 {
		return true
	}
	n, sum, added, held, least, most := 0.0, 0.0, 0.0, 0.0, math.Inf(1), math.Inf(-1)
	pass, aborted := true, false
	for _, o := range of {
		v := float64(o.Value)
		n, sum, added, held = n+o.Aggregate.Values, sum+v*o.Aggregate.Values, added+v, held+math.Round(v*o.Aggregate.Values)
		least, most = min(least, v), max(most, v)
		pass, aborted = pass && o.Pass, aborted || o.Aborted
	}
	exact, value := true, 0.0
	switch how := t.Aggregate.How; {
	case how == "count":
		value = added
	case how == "rate" && t.Unit == "per_s":
		value = share(n, float64(durationNs)/1e9)
	case how == "rate":
		value = held / n
	case how == "avg":
		value = sum / n
	case how == "min":
		value = least
	case how == "max":
		value = most
	case strings.HasPrefix(t.Aggregate.Holds, ">"):
		exact, value = false, least
	default:
		exact, value = false, most
	}
	a := *t.Aggregate
	a.Values = n
	t.Value, t.Aggregate, t.Aborted = Figure(value), &a, aborted
	t.Pass = !aborted && (exact && a.holds(value, t.Limit) || !exact && pass)
	return exact
}

// merge adds the figures of another part: counters add up, means are weighted.
func (w *Watched) merge(part *Watched) {
	w.Samples, w.Missed = w.Samples+part.Samples, w.Missed+part.Missed
	for _, m := range part.Metrics {
		i := slices.IndexFunc(w.Metrics, func(have WatchedMetric) bool { return have.Name == m.Name })
		if i < 0 {
			w.Metrics = append(w.Metrics, m)
			continue
		}
		to := &w.Metrics[i]
		if m.Kind == "counter" {
			to.First, to.Last, to.Min, to.Mean, to.Max = to.First+m.First, to.Last+m.Last, to.Min+m.Min, to.Mean+m.Mean, to.Max+m.Max
			continue
		}
		was, more := float64(to.Values), float64(m.Values)
		mean := func(a, b float64) float64 { return share(a*was+b*more, was+more) }
		to.First, to.Last, to.Mean = mean(to.First, m.First), mean(to.Last, m.Last), mean(to.Mean, m.Mean)
		to.Min, to.Max, to.Values = min(to.Min, m.Min), max(to.Max, m.Max), to.Values+m.Values
	}
}
