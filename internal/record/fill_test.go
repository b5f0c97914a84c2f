package record

import (
	"testing"

	"brunt/internal/measure"
)

// loadOf returns an interval of one second with n requests. Each took service and was sent late; own of the delay was
// caused by the generator. All in ns.
func loadOf(n int, service, late, own int64) *measure.Interval {
	iv := newInterval(1)
	iv.Sessions, iv.Busy, iv.Offered = 10, 0, uint64(n)
	o := &iv.Operations[0]
	o.Done, o.Attempts = uint64(n), uint64(n)
	o.Service.RecordN(service, uint64(n))
	o.Lag.RecordN(late, uint64(n))
	o.Response.RecordN(service+late, uint64(n))
	iv.OwnLag = measure.NewHistogram()
	iv.OwnLag.RecordN(own, uint64(n))
	iv.Kind = measure.KindOpen
	iv.Settle()
	return iv
}

func TestBacklogIsBlamedOnTheRightSide(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name            string
		iv              *measure.Interval
		backlog         uint64
		busy            int
		saturated, idle int64
	}{
		{"no backlog", loadOf(100, ms, 20*ms, 20*ms), 0, 0, 0, 0},
		{"a backlog of less than 10 ms", loadOf(1000, ms, 20*ms, 20*ms), 9, 0, 0, 0},
		{"waited for the generator", loadOf(100, ms, 20*ms, 15*ms), 50, 10, 0, 1e9},
		{"waited for sessions", loadOf(100, ms, 20*ms, ms), 50, 2, 1e9, 0},
		{"a server that answers nothing", loadOf(0, 0, 0, 0), 50, 10, 1e9, 0},
		{"a generator that sends nothing", loadOf(0, 0, 0, 0), 50, 0, 0, 1e9},
	} {
		c.iv.Backlog, c.iv.Busy = c.backlog, c.busy
		c.iv.Offered = max(c.iv.Offered, c.backlog)
		c.iv.Settle()
		if p := &c.iv.Pace; p.SaturatedNs != c.saturated || p.IdleBacklogNs != c.idle || p.BacklogMax != c.backlog {
			t.Errorf("%s: saturated %d ns, idle %d ns, want %d and %d", c.name, p.SaturatedNs, p.IdleBacklogNs, c.saturated,
				c.idle)
		}
		var warm measure.Tally
		c.iv.WarmUp = true
		if err := warm.Interval(c.iv); err != nil || warm.Total().Pace != (measure.Pace{}) {
			t.Errorf("%s: warm-up counts: %+v", c.name, warm.Total().Pace)
		}
	}
}

func TestOwnLagIsSummedUp(t *testing.T) {
	run := &Run{Operations: []Operation{{Name: "a"}, {Name: "b"}}, Targets: make([]Target, 2),
		Phases: []Phase{{Name: "hold", Kind: "open"}}}
	tally := &measure.Tally{}
	warm := loadOf(100, 1e6, 9e6, 9e6)
	warm.Phase, warm.WarmUp = "warm", true
	for _, iv := range []*measure.Interval{warm, loadOf(900, 1e6, 5e6, 1000), loadOf(100, 1e6, 5e6, 2_000_000)} {
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	Fill(run, tally)
	h := &run.Health
	if h.OwnLagCount != 1000 || h.OwnLagP99Ns < 1_990_000 || h.OwnLagP99Ns > 2_010_000 || h.OwnLagMeanNs != 200_900 {
		t.Errorf("own lag of %d: p99 %d ns, mean %g ns", h.OwnLagCount, h.OwnLagP99Ns, h.OwnLagMeanNs)
	}
	if h.InFlightMean < 0.45 || h.InFlightMean > 0.55 {
		t.Errorf("%g in flight, want 0.5", h.InFlightMean)
	}
}

func TestTailIgnoresTwoHiccups(t *testing.T) {
	h := measure.NewHistogram()
	h.RecordN(1000, 50)
	h.RecordN(9_000_000, 2)
	if got := tailOf(h); got != 1000 {
		t.Errorf("two hiccups of 52: %d", got)
	}
	h.Record(9_000_000)
	if got := tailOf(h); got < 8_990_000 {
		t.Errorf("three hiccups of 53: %d", got)
	}
}

func TestDrainingDoesNotLowerTheOfferedRate(t *testing.T) {
	run := &Run{Operations: []Operation{{Name: "a"}}, Phases: []Phase{{Name: "hold", Kind: "open", DurationNs: 1e9}}}
	tally := &measure.Tally{}
	for _, iv := range []*measure.Interval{
		{Phase: "hold", Kind: "open", Account: measure.Account{EndNs: 1e9, Offered: 1000, Overdue: 10}},
		{Phase: "hold", Kind: "open", Drain: true, Account: measure.Account{StartNs: 1e9, EndNs: 1.5e9}},
	} {
		iv.Settle()
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	Fill(run, tally)
	if run.Total.OfferedPerS != 1000 || run.DurationNs != 1e9 || run.Total.Overdue != 10 {
		t.Errorf("offered %g/s in %d ns, %d overdue", run.Total.OfferedPerS, run.DurationNs, run.Total.Overdue)
	}
}

// The interval at the end of the schedule may end late. No operation falls due in the excess.
func TestAnIntervalCutLateDoesNotLowerTheOfferedRate(t *testing.T) {
	run := &Run{Operations: []Operation{{Name: "a"}},
		Phases: []Phase{{Name: "warm", Kind: "open", WarmUp: true, ScheduleNs: 1e9},
			{Name: "hold", Kind: "open", ScheduleNs: 1e9}}}
	tally := &measure.Tally{}
	for _, iv := range []*measure.Interval{
		{Phase: "warm", Kind: "open", WarmUp: true, Account: measure.Account{EndNs: 1e9, Offered: 500}},
		{Phase: "hold", Kind: "open", Account: measure.Account{StartNs: 1e9, EndNs: 2.04e9, Offered: 1000}},
	} {
		iv.Settle()
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if Fill(run, tally); run.Total.OfferedPerS != 1000 {
		t.Errorf("offered %g/s", run.Total.OfferedPerS)
	}
}

// The duration of a phase that is interrupted by others is the sum of its own intervals, so gaps don't lower its rate.
func TestPhasesLastWithoutWhatIsWithinThem(t *testing.T) {
	run := &Run{Operations: []Operation{{Name: "a"}},
		Phases: []Phase{{Name: "load", Kind: "closed"}, {Name: "idle", Kind: "pause"}}}
	tally := &measure.Tally{}
	for i, phase := range []string{"load", "load", "idle", "idle", "load", "idle"} {
		iv := &measure.Interval{Phase: phase, Kind: "closed",
			Account: measure.Account{StartNs: int64(i) * 1e9, EndNs: int64(i+1) * 1e9}}
		if phase == "idle" {
			iv.Kind = measure.KindPause
		}
		iv.Settle()
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	Fill(run, tally)
	load, idle := &run.Phases[0], &run.Phases[1]
	if run.DurationNs != 3e9 || load.LengthNs() != run.DurationNs || load.DurationNs != 5e9 || idle.LengthNs() != 3e9 {
		t.Errorf("a load of %d ns; phases of %d and %d ns", run.DurationNs, load.LengthNs(), idle.LengthNs())
	}
}

// If a run doesn't set a number of sessions, its number is the average of connected sessions, rounded up.
func TestSessionsOfARunThatDoesntSay(t *testing.T) {
	for said, want := range map[int]int{0: 2, 8: 8} {
		run, sum := &Run{Sessions: said}, &measure.Tally{}
		for _, sessions := range []int{1, 2} {
			iv := &measure.Interval{Phase: "load", Kind: "closed", Account: measure.Account{StartNs: int64(sessions-1) * 1e9,
				EndNs: int64(sessions) * 1e9, Sessions: sessions, OwnLag: measure.NewHistogram()}}
			iv.Settle()
			if err := sum.Interval(iv); err != nil {
				t.Fatal(err)
			}
		}
		if Fill(run, sum); run.Sessions != want {
			t.Errorf("%d sessions, want %d", run.Sessions, want)
		}
	}
}
