package plan

import (
	"strings"
	"testing"
)

func TestParseThreshold(t *testing.T) {
	for _, c := range []struct {
		text string
		want Threshold
	}{
		{"response.p(99) < 10ms", Threshold{Metric: "response", Aggregate: "p", Quantile: 99, Comparison: "<", Limit: 10e6}},
		{"p(95)<100", Threshold{Metric: "response", Aggregate: "p", Quantile: 95, Comparison: "<", Limit: 100e6}},
		{"p99.9 <= 1.5s", Threshold{Metric: "response", Aggregate: "p", Quantile: 99.9, Comparison: "<=", Limit: 1.5e9}},
		{"lag.p99.9 < 250us", Threshold{Metric: "lag", Aggregate: "p", Quantile: 99.9, Comparison: "<", Limit: 250e3}},
		{"service.max<0.5", Threshold{Metric: "service", Aggregate: "max", Comparison: "<", Limit: 0.5e6}},
		{"avg < 1m", Threshold{Metric: "response", Aggregate: "avg", Comparison: "<", Limit: 60e9}},
		{"med < 3 ms", Threshold{Metric: "response", Aggregate: "p", Quantile: 50, Comparison: "<", Limit: 3e6}},
		{"errors < 1%", Threshold{Metric: "errors", Aggregate: "rate", Comparison: "<", Limit: 0.01}},
		{"errors.rate<0.02", Threshold{Metric: "errors", Aggregate: "rate", Comparison: "<", Limit: 0.02}},
		{"errors.count < 10", Threshold{Metric: "errors", Aggregate: "count", Comparison: "<", Limit: 10}},
		{"dropped == 0", Threshold{Metric: "dropped", Aggregate: "count", Comparison: "==", Limit: 0}},
		{"dropped < 5 %", Threshold{Metric: "dropped", Aggregate: "rate", Comparison: "<", Limit: 0.05}},
		{"rate > 950", Threshold{Metric: "rate", Aggregate: "rate", Comparison: ">", Limit: 950}},
		{"rate>=1e3/s", Threshold{Metric: "rate", Aggregate: "rate", Comparison: ">=", Limit: 1000}},
		{"count === 7", Threshold{Metric: "count", Aggregate: "count", Comparison: "==", Limit: 7}},
		{"response{operation:read}.p(99.9)<5ms", Threshold{Metric: "response", Operation: "read", Aggregate: "p", Quantile: 99.9, Comparison: "<", Limit: 5e6}},
		{`errors{operation: "select cars_q"} != 0`, Threshold{Metric: "errors", Operation: "select cars_q", Aggregate: "rate", Comparison: "!="}},
		{"rate{operation:a b/c}>1", Threshold{Metric: "rate", Operation: "a b/c", Aggregate: "rate", Comparison: ">", Limit: 1}},
	} {
		got, err := ParseThreshold(c.text)
		c.want.Text = c.text
		if err != nil || got != c.want {
			t.Errorf("%s:\n%+v (%v), want\n%+v", c.text, got, err, c.want)
		}
	}
}

func TestParseThresholdRefuses(t *testing.T) {
	for _, text := range []string{"", "p(99)", "p(99) < ", "p(99 < 3", "p99) < 3", "p(-1) < 3", "p() < 3", "p < 3", "p(1)(2) < 3", "response < 3",
		"errors.p(5) < 3", "latency.max < 3", "max < -3", "max < NaN", "max < 3 parsecs", "errors < 101%", "errors < -1%", "rate > x", "rate > inf",
		"response{} .max < 3", "response{operation:}.max < 3", "response{name:x}.max < 3", "p(50) <> 3", strings.Repeat("p", 2000)} {
		if got, err := ParseThreshold(text); err == nil {
			t.Errorf("%q is taken as %+v", text, got)
		} else if !strings.Contains(err.Error(), "; ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v doesn't say what to do on one line", text, err)
		}
	}
}

func FuzzParseThreshold(f *testing.F) {
	f.Add("response{operation:read}.p(99.9) < 5ms")
	f.Add("errors<1%")
	f.Add("dropped.rate >= .5")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseThreshold(text)
		if err != nil {
			return
		}
		if !(got.Limit >= 0) || !(got.Quantile >= 0 && got.Quantile <= 100) || aggregatesOf(got.Metric) == nil {
			t.Fatalf("%q is taken as %+v", text, got)
		}
		again, err := ParseThreshold(got.Text)
		if err != nil || again != got {
			t.Fatalf("%q: %+v, then %+v (%v)", text, got, again, err)
		}
	})
}
