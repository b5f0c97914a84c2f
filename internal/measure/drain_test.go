package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/protocol"
)

// served returns the tally of an open load of 100/s for lengthNs, answered after what response says, in intervals. A
// response of 0 is a failure that is known after lost ns.
func served(t *testing.T, lengthNs, intervalNs int64, response func(dueNs int64) int64, lostNs int64) *Tally {
	t.Helper()
	type answer struct{ due, end int64 }
	var all []answer
	last := lengthNs
	for due := int64(0); due < lengthNs; due += 1e7 {
		a := answer{due, due + response(due)}
		last = max(last, a.end)
		if a.end == due {
			last = max(last, due+lostNs)
		}
		all = append(all, a)
	}
	tally := &Tally{}
	for start := int64(0); start < last; {
		end := min(start+intervalNs, last)
		if start < lengthNs {
			end = min(end, lengthNs)
		}
		iv := &Interval{Phase: "load", Kind: KindOpen, Drain: start >= lengthNs,
			Account: Account{StartNs: start, EndNs: end, Sessions: 4, Operations: make([]OperationAccount, 1)}}
		o := &iv.Operations[0]
		o.Response = NewHistogram()
		for _, a := range all {
			switch {
			case a.end == a.due && a.due+lostNs > start && a.due+lostNs <= end:
				o.Done++
				o.Errors[protocol.Timeout]++
			case a.end > a.due && a.end > start && a.end <= end:
				o.Done++
				o.Response.Record(a.end - a.due)
			}
		}
		iv.Settle()
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
		start = end
	}
	return tally
}

// An open load whose answers take their time has the rate at which it was offered. One that the server can't keep up
// with has the rate of the server.
func TestTimeAfterTheScheduleCountsIfTheServerFellBehind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	constant := func(ns int64) func(int64) int64 { return func(int64) int64 { return ns } }
	behind := func(share float64) func(int64) int64 {
		return func(due int64) int64 { return 2e6 + int64(float64(due)*(1/share-1)) }
	}
	for name, c := range map[string]struct {
		lengthNs, intervalNs int64
		response             func(int64) int64
		low, high            float64 // rate, per second
	}{
		"far":                  {2e9, 1e9, constant(1e8), 100, 100},
		"far, intervals":       {2e9, 4e7, constant(1e8), 100, 100},
		"one interval":         {1e9, 1e9, constant(1e8), 100, 100},
		"far, longer":          {10e9, 1e9, constant(4e8), 100, 100},
		"random":               {10e9, 1e9, func(int64) int64 { return 1e6 + int64(r.ExpFloat64()*5e7) }, 100, 100},
		"half":                 {2e9, 4e7, behind(0.5), 49, 50.5},
		"half, long intervals": {2e9, 1e9, behind(0.5), 49, 50.5},
		"half, one interval":   {1e9, 1e9, behind(0.5), 49, 50.5},
		"a tenth":              {3e9, 1e9, behind(0.1), 9.9, 10.1},
		"nine of ten":          {10e9, 1e9, behind(0.9), 89.5, 90.1},
		"lost at the end": {2e9, 1e9, func(due int64) int64 {
			if due == 199e7 {
				return 0
			}
			return 1e6
		}, 99.5, 99.5},
		"late at the end": {2e9, 1e9, func(due int64) int64 {
			if due == 199e7 {
				return 1e9
			}
			return 1e6
		}, 66, 67},
		"all lost": {2e9, 1e9, func(int64) int64 { return 0 }, 0, 0},
	} {
		total := served(t, c.lengthNs, c.intervalNs, c.response, 5e9).Total()
		done := total.Totals()
		rate := float64(done.OK()) * 1e9 / float64(total.LoadNs)
		if rate < c.low || rate > c.high || done.Done != uint64(c.lengthNs/1e7) {
			t.Errorf("%s: %.2f/s, want %g to %g; %d done in %d ns", name, rate, c.low, c.high, done.Done, total.LoadNs)
		}
		if sessions := total.Pace.SessionsNs / float64(total.LoadNs); math.Abs(sessions-4) > 1e-9 {
			t.Errorf("%s: %g sessions on average, want 4", name, sessions)
		}
	}
}

// What arrivals wait for belongs to the load, whether it succeeds or not. A pause's sessions don't.
func TestTimeThatCountsInAnyCase(t *testing.T) {
	tally := &Tally{}
	for _, iv := range []*Interval{
		{Phase: "load", Kind: KindOpen, Account: Account{EndNs: 1e9, Sessions: 2}},
		{Phase: "load", Kind: KindOpen, Drain: true, Account: Account{StartNs: 1e9, EndNs: 2e9, Sessions: 2, Backlog: 9}},
		{Phase: "load", Kind: KindOpen, Drain: true, Account: Account{StartNs: 2e9, EndNs: 3e9, Sessions: 2}},
		{Phase: "idle", Kind: KindPause, Account: Account{StartNs: 3e9, EndNs: 9e9, Sessions: 2}},
		{Phase: "last", Kind: KindClosed, Drain: true, Account: Account{StartNs: 9e9, EndNs: 10e9, Sessions: 2}},
	} {
		iv.Settle()
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if total := tally.Total(); total.LoadNs != 3e9 || total.Pace.SessionsNs != 6e9 {
		t.Errorf("%d ns, %g of sessions", total.LoadNs, total.Pace.SessionsNs)
	}
}
