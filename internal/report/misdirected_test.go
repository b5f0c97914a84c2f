package report

import (
	"strings"
	"testing"
)

// If there are misdirected operations, their share is shown in total and by address.
func TestMisdirectedOperationsAreShown(t *testing.T) {
	run := manyAddresses()
	text := func() string {
		var b strings.Builder
		if err := Terminal(&b, run, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(text(), "misdirected") {
		t.Error("there are none, and they are shown")
	}
	run.Total.Misdirected, run.Total.Unmapped = run.Total.Done/4, run.Total.Done/10
	run.Targets[1].Counts.Misdirected = run.Targets[1].Counts.Done / 2
	shown := text()
	for _, want := range []string{"25.0 % went to an address that doesn't have their key", "10.0 % went to any address",
		"failed  misdirected", " 50"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q isn't shown:\n%s", want, shown)
		}
	}
}
