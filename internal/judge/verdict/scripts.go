package verdict

import (
	"math"
	"slices"
	"strings"

	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// MergeScripts judges the thresholds of a k6 script for a run that was merged from parts. k6 has judged each part. It
// warns where the result of the whole can't be computed from the records of the parts.
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

// AbortScript returns the text of a k6 threshold that ends the load, "" if it goes on. parts are the values of the
// workers, atNs the time since the load's start. A threshold ends the load if it doesn't hold for the values of all
// workers together. If these aren't known exactly, as with quantiles, it must hold in no worker.
func AbortScript(parts [][]record.AbortRule, atNs int64) string {
	of, texts := map[string][]record.Threshold{}, []string(nil)
	for _, p := range parts {
		for _, rule := range p {
			t := rule.Threshold
			if atNs <= rule.DelayNs || t.Aggregate == nil || t.Aggregate.Values == 0 {
				continue
			}
			t.Pass = metric.Holds(float64(t.Value), t.Aggregate.Holds, t.Limit)
			if of[t.Text] == nil {
				texts = append(texts, t.Text)
			}
			of[t.Text] = append(of[t.Text], t)
		}
	}
	for _, text := range texts {
		all := of[text][0]
		exact := mergeRule(&all, of[text], atNs)
		holds := func(t record.Threshold) bool { return t.Pass }
		if exact && !all.Pass || !exact && !slices.ContainsFunc(of[text], holds) {
			return text
		}
	}
	return ""
}

// PerSecond sets the value of a threshold on a counter's rate from the counter's sum and the length of the load, in ns:
// k6 doesn't export that value. It leaves other thresholds as they are.
func PerSecond(t *record.Threshold, durationNs int64) {
	if a := t.Aggregate; a != nil && a.How == "rate" && t.Unit == "per_s" {
		t.Value = record.Figure(record.PerSecond(a.Values, durationNs))
	}
}

// mergeRule sets t's value and result for all parts. of has t as judged in the parts that had values. It reports
// whether the value is exact for the whole; otherwise it is the worst value of the parts.
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
		value = record.PerSecond(n, durationNs)
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
