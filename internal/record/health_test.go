package record

import (
	"testing"

	"brunt/internal/measure"
)

// loadOf is an interval of a second in which n requests took service each and were sent late.
func loadOf(sessions, n int, service, late int64) *Interval {
	iv := newInterval(1)
	iv.Sessions, iv.Busy, iv.Offered = sessions, 0, uint64(n)
	o := &iv.Operations[0]
	o.Done, o.Attempts = uint64(n), uint64(n)
	o.Service.RecordN(service, uint64(n))
	o.Lag.RecordN(late, uint64(n))
	o.Response.RecordN(service+late, uint64(n))
	return &Interval{Interval: *iv, Slices: 1}
}

func TestLagIsBlamedOnTheRightSide(t *testing.T) {
	const ms = 1_000_000
	stalled := func(service int64, n int) func(*Interval) {
		return func(iv *Interval) { iv.Operations[0].Service.RecordN(service, uint64(n)) }
	}
	for _, c := range []struct {
		name    string
		iv      *Interval
		change  func(*Interval)
		ownLate bool
	}{
		{"late although sessions were free", loadOf(10, 100, ms, 20*ms), nil, true},
		{"half of the time in flight: all sessions may be busy by chance", loadOf(10, 5000, ms, 20*ms), nil, false},
		{"one session, busy a tenth of the time", loadOf(1, 100, ms, 20*ms), nil, false},
		{"all sessions waited at the end", loadOf(10, 100, ms, 20*ms), func(iv *Interval) { iv.Busy, iv.Backlog = 10, 5 }, false},
		{"a session was down", loadOf(9, 100, ms, 20*ms), nil, false},
		{"the server stood still for all sessions", loadOf(10, 100, ms, 200*ms), stalled(200*ms, 10), false},
		{"one slow request of a hundred sessions", loadOf(100, 100, ms, 200*ms), stalled(200*ms, 1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.iv)
			}
			sessions := 10
			if c.iv.Sessions != 9 {
				sessions = c.iv.Sessions
			}
			h := healthTally{sessions: sessions, pipeline: 1}
			h.add(c.iv)
			if got := countOf(h.ownLag) > 0; got != c.ownLate {
				t.Errorf("blamed on the generator: %v, want %v", got, c.ownLate)
			}
		})
	}
}

func TestCatchingUpIsNotTheGeneratorsLag(t *testing.T) {
	h := healthTally{sessions: 10, pipeline: 1}
	full := loadOf(10, 100, 1e6, 500e6)
	full.Busy, full.Backlog = 10, 400
	h.add(full)
	after := loadOf(10, 100, 1e6, 300e6)
	h.add(after)
	if n := countOf(h.ownLag); n != 0 {
		t.Errorf("%d late sends after a backlog were blamed on the generator", n)
	}
	h.add(loadOf(10, 100, 1e6, 300e6))
	if n := countOf(h.ownLag); n != 100 {
		t.Errorf("%d late sends long after the backlog were blamed on the generator, want 100", n)
	}
	if h.saturatedNs != 1e9 || h.idleBacklogNs != 0 || h.backlogMax != 400 {
		t.Errorf("saturated %d ns, idle backlog %d ns, at most %d", h.saturatedNs, h.idleBacklogNs, h.backlogMax)
	}
}

func TestIdleBacklog(t *testing.T) {
	h := healthTally{sessions: 10, pipeline: 1}
	iv := loadOf(10, 100, 1e6, 1e6)
	iv.Busy, iv.Backlog = 2, 50
	h.add(iv)
	if h.idleBacklogNs != 1e9 || h.saturatedNs != 0 {
		t.Errorf("idle backlog %d ns, saturated %d ns", h.idleBacklogNs, h.saturatedNs)
	}
	s := h.summary(measure.Health{}, &measure.OperationInterval{}, 1e9)
	if s.InFlightMean < 0.099 || s.InFlightMean > 0.101 || s.OwnLagCount != 100 || s.OwnLagP99Ns < 1e6 {
		t.Errorf("summary %+v", s)
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
	tally := NewTally(run)
	tally.Add(&Interval{Interval: measure.Interval{EndNs: 1e9, Phase: "hold", Offered: 1000}, Slices: 1})
	tally.Add(&Interval{Interval: measure.Interval{StartNs: 1e9, EndNs: 1.5e9, Phase: "hold"}, Slices: 1})
	tally.Fill(run)
	if run.Total.OfferedPerS != 1000 || run.DurationNs != 1.5e9 {
		t.Errorf("offered %g/s in %d ns", run.Total.OfferedPerS, run.DurationNs)
	}
}
