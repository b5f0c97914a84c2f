package metric

import (
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text string
		want Rule
	}{
		{"response.p(99) < 10ms", Rule{Metric: "response", Aggregate: "p", Quantile: 99, Comparison: "<", Limit: 10e6}},
		{"p(95)<100", Rule{Metric: "response", Aggregate: "p", Quantile: 95, Comparison: "<", Limit: 100e6}},
		{"p99.9 <= 1.5s", Rule{Metric: "response", Aggregate: "p", Quantile: 99.9, Comparison: "<=", Limit: 1.5e9}},
		{"lag.p99.9 < 250us", Rule{Metric: "lag", Aggregate: "p", Quantile: 99.9, Comparison: "<", Limit: 250e3}},
		{"service.max<0.5", Rule{Metric: "service", Aggregate: "max", Comparison: "<", Limit: 0.5e6}},
		{"avg < 1m", Rule{Metric: "response", Aggregate: "avg", Comparison: "<", Limit: 60e9}},
		{"med < 3 ms", Rule{Metric: "response", Aggregate: "p", Quantile: 50, Comparison: "<", Limit: 3e6}},
		{"errors < 1%", Rule{Metric: "errors", Aggregate: "rate", Comparison: "<", Limit: 0.01}},
		{"errors.rate<0.02", Rule{Metric: "errors", Aggregate: "rate", Comparison: "<", Limit: 0.02}},
		{"errors.count < 10", Rule{Metric: "errors", Aggregate: "count", Comparison: "<", Limit: 10}},
		{"dropped == 0", Rule{Metric: "dropped", Aggregate: "count", Comparison: "==", Limit: 0}},
		{"dropped < 5 %", Rule{Metric: "dropped", Aggregate: "rate", Comparison: "<", Limit: 0.05}},
		{"rate > 950", Rule{Metric: "rate", Aggregate: "rate", Comparison: ">", Limit: 950}},
		{"rate>=1e3/s", Rule{Metric: "rate", Aggregate: "rate", Comparison: ">=", Limit: 1000}},
		{"count === 7", Rule{Metric: "count", Aggregate: "count", Comparison: "==", Limit: 7}},
		{"response{operation:read}.p(99.9)<5ms", Rule{Metric: "response", Operation: "read", Aggregate: "p", Quantile: 99.9,
			Comparison: "<", Limit: 5e6}},
		{`errors{operation: "select cars_q"} != 0`, Rule{Metric: "errors", Operation: "select cars_q", Aggregate: "rate",
			Comparison: "!="}},
		{"rate{operation:a b/c}>1", Rule{Metric: "rate", Operation: "a b/c", Aggregate: "rate", Comparison: ">", Limit: 1}},
	} {
		got, err := ParseRule(c.text)
		c.want.Text = c.text
		if err != nil || got != c.want {
			t.Errorf("%s:\n%+v (%v), want\n%+v", c.text, got, err, c.want)
		}
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for _, text := range []string{"", "p(99)", "p(99) < ", "p(99 < 3", "p99) < 3", "p(-1) < 3", "p() < 3", "p < 3",
		"p(1)(2) < 3", "response < 3",
		"errors.p(5) < 3", "latency.max < 3", "max < -3", "max < NaN", "max < 3 parsecs", "errors < 101%", "errors < -1%",
		"rate > x", "rate > inf", "errors < 1% over", "errors < 1% over x", "errors < 1% over 0s", "errors < 1% over -1s",
		"errors < 1% over 25h", "errors < 1% over 1s at most", "errors < 1% over 1s at most x in all",
		"errors < 1% over 1s at most 0s in all", "errors < 1% at most 1s in all", "over 10s",
		"response{} .max < 3", "response{operation:}.max < 3", "response{name:x}.max < 3", "p(50) <> 3",
		strings.Repeat("p", 2000)} {
		if got, err := ParseRule(text); err == nil {
			t.Errorf("%q is taken as %+v", text, got)
		} else if !strings.Contains(err.Error(), "; ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v doesn't say what to do on one line", text, err)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("response{operation:read}.p(99.9) < 5ms")
	f.Add("errors<1%")
	f.Add("p(99) < 200ms over 10s")
	f.Add("errors < 1% over 30s at most 2m in all")
	f.Add("dropped.rate >= .5")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseRule(text)
		if err != nil {
			return
		}
		if got.Window != 0 && (got.Window < leastWindow || got.Window > mostWindow) || got.Budget < 0 ||
			got.Budget > 0 && got.Window == 0 {
			t.Fatalf("%q is taken as %+v", text, got)
		}
		if !(got.Limit >= 0) || !(got.Quantile >= 0 && got.Quantile <= 100) || Find(got.Metric) == nil {
			t.Fatalf("%q is taken as %+v", text, got)
		}
		again, err := ParseRule(got.Text)
		if err != nil || again != got {
			t.Fatalf("%q: %+v, then %+v (%v)", text, got, again, err)
		}
	})
}
