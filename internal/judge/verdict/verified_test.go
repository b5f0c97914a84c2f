package verdict

import (
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Readings after faults that are inconclusive or were overruled cause a warning and don't fail the run.
func TestReadingsAfterFaultsAreWarnedOf(t *testing.T) {
	of := func(o record.VerifiedOperation) []record.VerifiedOperation { return []record.VerifiedOperation{o} }
	fine := of(record.VerifiedOperation{Acknowledged: 9, OK: 9})
	read := record.VerifiedFault{Fault: "kill", Number: 1, Operations: fine}
	for name, row := range map[string]struct {
		change func(v *record.VerifiedFault)
		want   string
	}{
		"all was read": {func(*record.VerifiedFault) {}, ""},
		"the next fault came": {func(v *record.VerifiedFault) {
			v.Operations, v.Reason = of(record.VerifiedOperation{Acknowledged: 9, OK: 4, NotChecked: 5}),
				message.New("verify.next-fault")
		}, WarnFaultUnchecked},
		"the load ended": {func(v *record.VerifiedFault) {
			v.Operations, v.Reason = of(record.VerifiedOperation{Acknowledged: 9, OK: 4, NotChecked: 5}),
				message.New("verify.load-over")
		}, ""},
		"the disk was full":  {func(v *record.VerifiedFault) { v.Unrecorded = 3 }, WarnFaultUnchecked},
		"nothing was read":   {func(v *record.VerifiedFault) { v.Operations = nil }, WarnFaultUnchecked},
		"what was lost came": {func(v *record.VerifiedFault) { v.NewLost, v.Returned = 2, 2 }, WarnReturned},
	} {
		t.Run(name, func(t *testing.T) {
			run, a := healthyLoad("p(99) < 1s")
			v := read
			row.change(&v)
			run.Verified = &record.Verified{Operations: fine, AfterFaults: []record.VerifiedFault{v}}
			Judge(run, a)
			if run.Verdict.Result != Pass {
				t.Errorf("%s: %q", run.Verdict.Result, run.Verdict.Texts())
			}
			got := ""
			for _, w := range run.Warnings {
				if w.ID == WarnFaultUnchecked || w.ID == WarnReturned {
					got += w.ID
				}
			}
			if got != row.want {
				t.Errorf("it warns of %q, want %q: %+v", got, row.want, run.Warnings)
			}
		})
	}
}
