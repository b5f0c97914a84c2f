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
