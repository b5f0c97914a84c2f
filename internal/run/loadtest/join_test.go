package loadtest

import (
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Two parts of 6,000 samples each know too little of the p99.99, and the whole knows enough. What a part says of its
// machine stays.
func TestWarningsOfPartsThatTheWholeRefutes(t *testing.T) {
	run := &record.Run{Complete: true}
	run.Total.Response.Count = 12_000
	for _, id := range []string{verdict.WarnFewSamples, verdict.WarnMissing, verdict.WarnGovernor, "record-damaged"} {
		run.Warnings = append(run.Warnings, record.NewWarning(id, message.Count("n", 6000)))
	}
	judgeAgain(run, &measure.Tally{})
	got := map[string]bool{}
	for _, w := range run.Warnings {
		got[w.ID] = true
	}
	if got[verdict.WarnFewSamples] || got[verdict.WarnMissing] {
		t.Errorf("the whole has warnings that its sums refute: %v", got)
	}
	if !got[verdict.WarnGovernor] || !got["record-damaged"] {
		t.Errorf("warnings of a part's machine and record are gone: %v", got)
	}
}
