package engine

import (
	"testing"

	"brunt/internal/measure"
	"brunt/internal/plan"
)

// resumedAt returns the decisions of a leader that resumes after the first two pieces, so many intervals after the
// load's beginning.
func resumedAt(t *testing.T, intervals int64) (all []Decided, control *rising) {
	t.Helper()
	control = &rising{}
	phases := ledPlan()
	phases[1].Duration *= 10
	l := NewLeader(phases, ledPlan()[0].Duration/2, func(*plan.Phase) Controller { return control },
		func(d Decided) { all = append(all, d) })
	l.Resume([]Decided{{Phase: "adaptive", UntilNs: 2 * slice, Control: measure.Control{RatePerS: 100, Reason: "start"}},
		{Phase: "adaptive", UntilNs: 4 * slice, Control: measure.Control{RatePerS: 170, Reason: "raise"}}},
		func() int64 { return 1000 + intervals*slice })
	for i := range int64(40) {
		iv := &measure.Interval{}
		iv.Phase, iv.StartNs, iv.EndNs = "warm-up", 1000+i*slice, 1000+(i+1)*slice
		if i >= 2 {
			iv.Phase = "adaptive"
		}
		if err := l.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	return all, control
}

// A leader that resumes too late has the phase pause, and then goes on at the last rate.
func TestALeaderResumesAfterAPause(t *testing.T) {
	all, control := resumedAt(t, 14)
	if len(all) < 3 || all[0].Control.Reason != Paused || all[0].Control.RatePerS != 0 {
		t.Fatalf("decisions %+v", all)
	}
	if until := all[0].UntilNs; until < 12*slice+resumeAfterNs || until%slice != 0 {
		t.Errorf("the pause ends at %d ns, %d ns is now", until, 12*slice)
	}
	if d := all[1]; d.Control.RatePerS != 170 || d.UntilNs != all[0].UntilNs+2*slice {
		t.Errorf("after the pause comes %+v", d)
	}
	if d := all[2]; d.Control.Reason != "raise" || control.seen[0] < 1000+2*slice+all[0].UntilNs {
		t.Errorf("then comes %+v after the interval at %d ns", d, control.seen[0])
	}
}

// A leader that resumes before the last piece has ended goes on as if nothing had happened.
func TestALeaderResumesInTime(t *testing.T) {
	all, control := resumedAt(t, 5)
	if len(all) == 0 || all[0].Control.Reason != "raise" || all[0].UntilNs != 6*slice || control.seen[0] != 1000+4*slice {
		t.Errorf("decisions %+v after the intervals at %v", all, control.seen)
	}
}
