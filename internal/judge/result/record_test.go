package result

import (
	"testing"

	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
)

// The result of a k6 script contains its checks and its own metrics. For a killed run they are missing, because the
// counters are rates there.
func TestOfAScript(t *testing.T) {
	run := &record.Run{Complete: true, Total: record.Operation{Counts: record.CountsOf(&measure.Counts{Done: 100}),
		RatePerS: 10}, Watched: []record.Watched{
		{Source: "host", Metrics: []record.WatchedMetric{{Name: "cpu_busy_seconds", Unit: "cores", Mean: 1}}},
		{Source: record.WatchedScript, Metrics: []record.WatchedMetric{
			{Name: "check one row", Unit: "share", Mean: 0.99}, {Name: "checks", Unit: "share", Mean: 0.99},
			{Name: "waiting", Unit: "seconds", Mean: 0.25}, {Name: "bought", Unit: "count", Mean: 7},
			{Name: "iterations", Unit: "count", Mean: 100},
		}},
	}}
	r := Of(run)
	for name, want := range map[string]Metric{
		"check one row": {Unit: "share", Better: metric.Higher, Value: 0.99}, "checks": {Unit: "share", Better: metric.Higher,
			Value: 0.99},
		"waiting": {Unit: "ns", Better: metric.Neutral, Value: 0.25e9}, "bought": {Unit: "number", Better: metric.Neutral,
			Value: 7},
	} {
		want.Name = name
		if got := r.Find(name, ""); got == nil || *got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"iterations", "cpu_busy_seconds"} {
		if got := r.Find(name, ""); got != nil {
			t.Errorf("%+v", got)
		}
	}
	run.Complete = false
	if got := Of(run).Find("waiting", ""); got != nil {
		t.Errorf("of a killed run: %+v", got)
	}
}

// Each quantile of a result has the interval of this quantile in the record, also 99.9, which divided by 100 isn't
// 0.999.
func TestQuantilesHaveTheirBounds(t *testing.T) {
	bounds := make([]*record.Bounds, 1+len(record.Quantiles))
	for i := range bounds {
		bounds[i] = &record.Bounds{Low: float64(i), High: float64(i) + 1}
	}
	run := &record.Run{Complete: true, Total: record.Operation{
		Counts:   record.CountsOf(&measure.Counts{Done: 100_000}),
		Response: record.Latency{Count: 100_000, Within: record.WithinOf(bounds)},
	}}
	r := Of(run)
	for _, q := range Quantiles() {
		t.Run(QuantileName(q), func(t *testing.T) {
			if m := r.Find(QuantileName(q), ""); m == nil || m.Within == nil {
				t.Errorf("got %+v, want bounds", m)
			}
		})
	}
}
