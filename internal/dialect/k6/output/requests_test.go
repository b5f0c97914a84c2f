package output

import (
	"math"
	"strings"
	"testing"

	"go.k6.io/k6/v2/metrics"
	"google.golang.org/grpc/codes"

	"brunt/internal/protocol"
)

func TestErrorCodesHaveClasses(t *testing.T) {
	for code, want := range map[string]struct{ read, write protocol.Class }{
		"1050": {protocol.Timeout, protocol.UnknownOutcome}, "1101": {protocol.Connect, protocol.Connect},
		"1200": {protocol.Connect, protocol.UnknownOutcome}, "1212": {protocol.Connect, protocol.Connect},
		"1220": {protocol.Connect, protocol.UnknownOutcome}, "1310": {protocol.Connect, protocol.Connect},
		"1404": {protocol.Server, protocol.Server}, "1503": {protocol.Server, protocol.Server},
		"1650": {protocol.Connect, protocol.UnknownOutcome}, "1000": {protocol.Protocol, protocol.Protocol},
		"1000 unexpected EOF": {protocol.Connect, protocol.UnknownOutcome}, "x": {protocol.Protocol, protocol.Protocol},
	} {
		code, text, _ := strings.Cut(code, " ")
		if got := classOf(code, 0, text, false); got != want.read {
			t.Errorf("%s %s of a read is %s, want %s", code, text, got, want.read)
		}
		if got := classOf(code, 0, text, true); got != want.write {
			t.Errorf("%s %s of a write is %s, want %s", code, text, got, want.write)
		}
	}
	if got := classOf("", 404, "", true); got != protocol.Server {
		t.Errorf("status 404 is %s", got)
	}
	for code, want := range map[codes.Code]protocol.Class{codes.DeadlineExceeded: protocol.UnknownOutcome,
		codes.Unavailable: protocol.Retryable, codes.NotFound: protocol.Server} {
		if got := classOfCall(int(code)); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
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
