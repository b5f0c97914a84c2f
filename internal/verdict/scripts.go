package verdict

import (
	"math"
	"slices"
	"strings"

	"brunt/internal/message"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// MergeScripts judges the thresholds of a script of k6 for a run that was merged of parts, each of which k6 has judged.
// It warns of what the parts' records can't tell of the whole.
func MergeScripts(run *record.Run, parts []*record.Recorded) {
	var split, bounds []string
	for i := range run.Thresholds {
		t := &run.Thresholds[i]
		if t.Aggregate == nil {
			continue
		}
		var of []record.Threshold
		for _, p := range parts {
			for _, o := range p.Run.Thresholds {
				if o.Text == t.Text && o.Aggregate != nil && o.Aggregate.Values != 0 {
					of = append(of, o)
				}
			}
		}
		switch exact := mergeRule(t, of, run.DurationNs); {
		case exact:
		case t.Pass == of[0].Pass && !slices.ContainsFunc(of, func(o record.Threshold) bool { return o.Pass != t.Pass }):
			bounds = append(bounds, t.Text)
		default:
			split = append(split, t.Text)
		}
	}
	if len(bounds) > 0 {
		run.Warnings = append(run.Warnings,
			record.Notice("merge-worst", message.Text("thresholds", strings.Join(bounds, ", "))))
	}
	if len(split) > 0 {
		run.Warnings = append(run.Warnings,
			record.Notice("merge-split", message.Text("thresholds", strings.Join(split, ", "))))
	}
	if other := func(p *record.Recorded) bool {
		return slices.ContainsFunc(p.Run.Operations,
			func(o record.Operation) bool { return o.Name == record.OtherOperations })
	}; run.Iterations != nil && slices.ContainsFunc(parts, other) {
		run.Warnings = append(run.Warnings, record.Notice("merge-other"))
	}
}

// PerSecond gives a rule about a counter's rate, which k6 tells nobody once it has judged, its value over a load of
// that length.
func PerSecond(t *record.Threshold, durationNs int64) {
	if a := t.Aggregate; a != nil && a.How == "rate" && t.Unit == "per_s" {
		t.Value = record.Figure(perSecond(a.Values, durationNs))
	}
}

func perSecond(n float64, durationNs int64) float64 {
	if durationNs <= 0 {
		return 0
	}
	return n / (float64(durationNs) / 1e9)
}

// mergeRule makes t what it is over all parts, of which of are those that had values. It reports whether t's value is
// the whole's, and not the worst of the parts'.
func mergeRule(t *record.Threshold, of []record.Threshold, durationNs int64) bool {
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
		value = perSecond(n, durationNs)
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
	t.Value, t.Aggregate, t.Aborted = record.Figure(value), &a, aborted
	t.Pass = !aborted && (exact && metric.Holds(value, a.Holds, t.Limit) || !exact && pass)
	return exact
}
