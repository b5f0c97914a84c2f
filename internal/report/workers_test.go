package report

import (
	"bytes"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/message"
)

// Each worker has a line with its figures and its result.
func TestWorkersHaveLines(t *testing.T) {
	run := recordtest.Base()
	run.Parts = []record.Part{
		{Done: 1200, DonePerS: 400, ResponseP99Ns: 2_000_000, Verdict: "pass",
			Worker: &record.Worker{Name: "1 (n1)", ClockOffsetNs: 40_000, ClockUncertaintyNs: 90_000, StartLateNs: 12_000}},
		{Done: 1100, DonePerS: 390, ResponseP99Ns: 90_000_000, Verdict: "invalid", Worker: &record.Worker{Name: "2 (n2)"}},
		{Done: 300, Worker: &record.Worker{Name: "3 (n3)", LostNs: 1_234_000_000, GivenNs: 2_500_000_000, Missing: 17,
			Lost: message.New("lost.ended", message.Text("how", "signal: killed"))}},
	}
	var out bytes.Buffer
	if err := Write(&out, "text", run, Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"WORKERS", "1 (n1)  1,200   400/s  2.00 ms", "40 µs ± 90 µs  pass", "2 (n2)", "invalid",
		"lost after 1.2 s: its process ended: signal: killed; others have its share", "from 2.5 s on; about 17 operations",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if out.Reset(); Write(&out, "text", recordtest.Base(), Options{}) != nil || strings.Contains(out.String(), "WORKERS") {
		t.Errorf("a run without workers has\n%s", out.String())
	}
}
