package report

import (
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/units"
)

func TestHintText(t *testing.T) {
	for _, c := range []struct {
		hint record.Hint
		want string
	}{
		{record.Hint{Metric: "p99", Operation: "all", Kind: "step-up", From: 2e6, To: 6.4e6, Ratio: 3.2},
			"response p99 rose from 2.00 ms to 6.40 ms (×3.20)"},
		{record.Hint{Metric: "throughput", Operation: "read", Kind: "step-down", From: 500, To: 250, Ratio: 0.5},
			"read: throughput fell from 500/s to 250/s (×0.50)"},
		{record.Hint{Metric: "errors", Kind: "step-up", From: 0, To: 0.1}, "share of failures rose from 0 % to 10.0 %"},
		{record.Hint{Metric: "p99", Kind: "start-up", From: 9e6, To: 1e6, Ratio: 1.0 / 9},
			"start-up: response p99 fell from 9.00 ms to 1.00 ms (×0.11)"},
		{record.Hint{Metric: "throughput", Kind: "pause", From: 500, LengthNs: 1e9},
			"pause: nothing succeeded for 1 s, after 500/s before"},
		{record.Hint{Metric: "throughput", Kind: "recovery", To: 480}, "recovery: operations succeed again, 480/s"},
	} {
		if got := HintText(&c.hint, units.English); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	generator := record.Hint{Metric: "generator", Kind: "pause", To: 3.2e9}
	if got := HintText(&generator, units.English); !strings.Contains(got, "generator itself stood still for 3.2 s") {
		t.Errorf("%q", got)
	}
}

func TestChangesAreShown(t *testing.T) {
	run := &record.Run{Name: "x", HintsMore: 4}
	for range mostChanges + 3 {
		run.Hints = append(run.Hints, record.Hint{AtNs: 69e9, BeganNs: 65e9, Metric: "throughput", Kind: "recovery", To: 480})
	}
	var b strings.Builder
	if err := Terminal(&b, run, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "operations succeed again") != mostChanges ||
		!strings.Contains(got, "and 7 others, see run.json") || !strings.Contains(got, "1 m 5 s") {
		t.Error(got)
	}
}

// A change is listed at the time when it began, even if it was noticed later. Old records contain only when it was
// noticed.
func TestChangesStandWhereTheyBegan(t *testing.T) {
	run := &record.Run{Name: "x", Hints: []record.Hint{
		{AtNs: 80e9, Metric: "throughput", Kind: "recovery", To: 480},
		{AtNs: 90e9, BeganNs: 61e9, Metric: "errors", Kind: "step-up", To: 0.5},
	}}
	var b strings.Builder
	if err := Terminal(&b, run, Options{}); err != nil {
		t.Fatal(err)
	}
	errors, recovery := strings.Index(b.String(), "1 m 1 s  share of failures"),
		strings.Index(b.String(), "1 m 20 s  recovery")
	if errors < 0 || recovery < errors {
		t.Error(b.String())
	}
}
