package report

import (
	"strings"
	"testing"
)

// If answers were streams, the mean times of their messages are shown by operation.
func TestStreamsAreShown(t *testing.T) {
	run := manyAddresses()
	text := func() string {
		var b strings.Builder
		if err := Terminal(&b, run, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(text(), "STREAMS") {
		t.Error("there are none, and they are shown")
	}
	o := &run.Operations[0]
	o.Streams, o.StreamMessages, o.StreamFirstNs, o.StreamBetweenNs = 4, 10, 8e6, 12e6
	run.Total.Streams = 4
	shown := text()
	for _, want := range []string{"STREAMS  mean times", "between", "4        10       2.00 ms  2.00 ms"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q isn't shown:\n%s", want, shown)
		}
	}
}
