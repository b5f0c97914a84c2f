package output

import (
	"math"
	"testing"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/protocol"
)

func TestErrorCodesHaveClasses(t *testing.T) {
	for code, want := range map[string]protocol.Class{
		"1050": protocol.Timeout, "1101": protocol.Connect, "1212": protocol.Connect, "1220": protocol.UnknownOutcome,
		"1310": protocol.Connect, "1404": protocol.Server, "1503": protocol.Server, "1650": protocol.UnknownOutcome,
		"1000": protocol.Protocol, "x": protocol.Protocol,
	} {
		if got := classOf(code, 0); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
	if got := classOf("", 404); got != protocol.Server {
		t.Errorf("status 404 is %s", got)
	}
}

func TestValuesOfThresholds(t *testing.T) {
	trend := metrics.NewTrendSink()
	for i := range 101 {
		trend.Add(metrics.Sample{Value: float64(i)})
	}
	for _, c := range []struct {
		sink metrics.Sink
		what string
		want float64
	}{
		{trend, "p(95)", 95}, {trend, "p(99.5)", 99.5}, {trend, "avg", 50}, {trend, "max", 100},
		{trend, "p(200)", math.NaN()}, {trend, "no", math.NaN()},
		{&metrics.CounterSink{Value: 3}, "count", 3}, {&metrics.RateSink{Trues: 1, Total: 4}, "rate", 0.25},
		{&metrics.GaugeSink{Value: 7}, "value", 7},
	} {
		if got := valueOf(c.sink, c.what); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%T %s is %g, want %g", c.sink, c.what, got, c.want)
		}
	}
}

func FuzzAggregation(f *testing.F) {
	for _, text := range []string{"p(95)<100", "rate == 1", "count>10", " p( 99.9 ) <= 1e3", "p(", "<", ""} {
		f.Add(text)
	}
	trend := metrics.NewTrendSink()
	trend.Add(metrics.Sample{Value: 1})
	f.Fuzz(func(t *testing.T, text string) {
		if m := aggregation().FindStringSubmatch(text); m != nil {
			valueOf(trend, m[1])
		}
	})
}
