package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"brunt/internal/record"
)

func TestThresholdsOfSegments(t *testing.T) {
	rule := func(how, holds string, limit, value, values float64, pass bool) record.Threshold {
		unit := "fraction"
		if how == "per_s" {
			how, unit = "rate", how
		}
		return record.Threshold{Text: how, Pass: pass, Value: record.Figure(value), Unit: unit, Limit: limit,
			Aggregate: &record.Aggregate{How: how, Holds: holds, Values: values}}
	}
	for name, c := range map[string]struct {
		of    []record.Threshold
		value float64
		pass  bool
		exact bool
	}{
		"a count": {[]record.Threshold{rule("count", ">=", 40, 10, 10, false),
			rule("count", ">=", 40, 30, 30, false)}, 40, true, true},
		"a count per second": {[]record.Threshold{rule("per_s", ">", 19, math.Inf(1), 10, true),
			rule("per_s", ">", 19, math.Inf(1), 30, true)}, 20, true, true},
		"a share at its limit": {[]record.Threshold{rule("rate", "<=", 0.3, 0.7, 10, false),
			rule("rate", "<=", 0.3, 5.0/30, 30, true)}, 0.3, true, true},
		"a mean": {[]record.Threshold{rule("avg", "<", 2, 1, 10, true), rule("avg", "<", 2, 3, 30, false)},
			2.5, false, true},
		"a least value": {[]record.Threshold{rule("min", "==", 1, 1, 10, true),
			rule("min", "==", 1, 3, 30, false)}, 1, true, true},
		"a quantile that all keep": {[]record.Threshold{rule("p(95)", "<", 5, 1, 10, true),
			rule("p(95)", "<", 5, 3, 30, true)}, 3, true, false},
		"a quantile that one keeps": {[]record.Threshold{rule("p(95)", ">", 2, 1, 10, false),
			rule("p(95)", ">", 2, 3, 30, true)}, 1, false, false},
	} {
		got := c.of[0]
		if exact := mergeRule(&got, c.of, 2e9); exact != c.exact || got.Pass != c.pass || float64(got.Value) != c.value {
			t.Errorf("%s: exact %v, %+v", name, exact, got)
		}
	}
	all := []*record.Recorded{{Run: &record.Run{}}, {Run: &record.Run{}}}
	all[0].Run.Thresholds = []record.Threshold{rule("p(95)", "<", 5, 1, 10, true), rule("med", "<", 5, 1, 10, true),
		rule("max", "<", 5, 0, 0, true)}
	all[1].Run.Thresholds = []record.Threshold{rule("p(95)", "<", 5, 9, 30, false), rule("med", "<", 5, 2, 30, true),
		rule("max", "<", 5, 0, 0, true)}
	merged := &record.Run{Thresholds: slices.Clone(all[0].Run.Thresholds), DurationNs: 2e9}
	MergeScripts(merged, all)
	if w := merged.Warnings; len(w) != 2 || w[0].ID != "merge-worst" || w[1].ID != "merge-split" ||
		!strings.Contains(w[1].Text.String(), "p(95)") {
		t.Errorf("warnings %+v", w)
	}
	if all[0].Run.Thresholds[0].Value != 1 {
		t.Error("a part's own threshold has changed")
	}
}

// A script's threshold ends the load of all workers only if it doesn't hold for all of their values together.
func TestAbortScript(t *testing.T) {
	of := func(how, holds, unit string, value, values, limit float64) record.AbortRule {
		return record.AbortRule{Threshold: record.Threshold{Text: how + holds, Value: record.Figure(value), Limit: limit,
			Unit: unit, Aggregate: &record.Aggregate{How: how, Holds: holds, Values: values}}}
	}
	const share, rate = "fraction", "per_s"
	late := of("count", "<", "count", 60, 60, 100)
	late.DelayNs = 10e9
	for name, row := range map[string]struct {
		a, b record.AbortRule
		want string
	}{
		"the sum is too much":    {of("count", "<", "count", 60, 60, 99), of("count", "<", "count", 60, 60, 99), "count<"},
		"the sum is enough":      {of("count", ">", "count", 60, 60, 100), of("count", ">", "count", 60, 60, 100), ""},
		"before its delay":       {late, late, ""},
		"a share of all":         {of("rate", "<", share, 1, 1, 0.5), of("rate", "<", share, 0, 99, 0.5), ""},
		"a share of most":        {of("rate", "<", share, 1, 99, 0.5), of("rate", "<", share, 0, 1, 0.5), "rate<"},
		"a rate of both":         {of("rate", "<", rate, 0, 30, 10), of("rate", "<", rate, 0, 30, 10), "rate<"},
		"a quantile of one":      {of("p(95)", "<", "ns", 200, 9, 100), of("p(95)", "<", "ns", 50, 9, 100), ""},
		"a quantile of both":     {of("p(95)", "<", "ns", 200, 9, 100), of("p(95)", "<", "ns", 150, 9, 100), "p(95)<"},
		"one has no value":       {of("p(95)", "<", "ns", 200, 9, 100), of("p(95)", "<", "ns", 0, 0, 100), "p(95)<"},
		"none has a value (yet)": {of("max", "<", "ns", 0, 0, 100), of("max", "<", "ns", 0, 0, 100), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AbortScript([][]record.AbortRule{{row.a}, {row.b}}, 5e9); got != row.want {
				t.Errorf("%q ends the load, want %q", got, row.want)
			}
		})
	}
}
