package report

import (
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// If answers were streams, the times of their messages are shown by operation; of records without distributions, the
// means.
func TestStreamsAreShown(t *testing.T) {
	run := manyAddresses()
	text := func() string {
		var b strings.Builder
		if err := Terminal(&b, run, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	if strings.Contains(text(), "STREAMS") {
		t.Error("there are none, and they are shown")
	}
	o := &run.Operations[0]
	o.Streams, o.StreamMessages, o.StreamFirstNs, o.StreamBetweenNs = 4, 10, 8e6, 12e6
	run.Total.Streams = 4
	shown := text()
	for _, want := range []string{"STREAMS", "4 10 to the first 2.00 ms –", "between 2.00 ms –"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q isn't shown:\n%s", want, shown)
		}
	}
	first, between := measure.NewHistogram(), measure.NewHistogram()
	for i := range int64(4) {
		first.Record(1e6 * (i + 1))
	}
	for range 6 {
		between.Record(2e6)
	}
	o.StreamLag, run.Total.StreamUnsent = record.LatencyOf(between, nil), 3
	o.StreamFirst, o.StreamBetween = record.LatencyOf(first, nil), record.LatencyOf(between, nil)
	shown = text()
	for _, want := range []string{"4 10 to the first 2.50 ms 2.00 ms 3.00 ms", "4.00 ms", "between 2.00 ms 2.00 ms",
		"message lag 2.00 ms 2.00 ms", "3 messages were due and not sent"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q isn't shown:\n%s", want, shown)
		}
	}
}
