package failover

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// fault returns a fault that was done at a time and healed later, without taking time itself.
func fault(name string, number int, at, healed int64, addresses ...string) record.Fault {
	return record.Fault{Name: name, Number: number, BeginNs: at * ms, DoneNs: at*ms + 100_000, HealBeginNs: healed * ms,
		HealedNs: healed*ms + 100_000, Addresses: addresses}
}

// outageOf returns the outage of all arrivals that an incident has.
func outageOf(f *record.Failover, name string, number int) int64 {
	for i := range f.Incidents {
		if in := &f.Incidents[i]; in.Fault == name && in.Number == number && !in.Healing {
			return in.Scopes[0].OutageNs
		}
	}
	return -1
}

// Each outage belongs to the fault that caused it, although the arrivals that were in flight when a fault began were
// due before it, and although the fault before it hadn't been recovered from.
func TestOutagesOfFaults(t *testing.T) {
	flapping := &history{}
	var flaps []record.Fault
	for n := range int64(4) {
		at := 10_000 + n*1000
		flapping.down = append(flapping.down, stretch{(at - 3) * ms, (at + 320) * ms})
		flaps = append(flaps, fault("flap", int(n+1), at, at+500))
	}
	type want struct {
		name   string
		number int
		outage int64 // ms
	}
	for name, row := range map[string]struct {
		h      *history
		faults []record.Fault
		want   []want
	}{
		"flapping": {flapping, flaps, []want{{"flap", 1, 323}, {"flap", 2, 323}, {"flap", 3, 323}, {"flap", 4, 323}}},
		"slow, and then a stop": {&history{slow: []stretch{{10 * sec, 13 * sec}}, down: []stretch{{12_998 * ms, 14 * sec}}},
			[]record.Fault{fault("slow", 1, 10_000, 13_000), fault("stop", 1, 13_000, 14_000)},
			[]want{{"slow", 1, 0}, {"stop", 1, 1002}}},
		"two black holes": {&history{down: []stretch{{10 * sec, 10_550 * ms}, {11_497 * ms, 13_580 * ms}}},
			[]record.Fault{fault("first", 1, 9_998, 10_500), fault("second", 1, 11_500, 13_500)},
			[]want{{"first", 1, 550}, {"second", 1, 2083}}},
		"an outage that lasts into the next fault": {&history{down: []stretch{{10 * sec, 12 * sec}}},
			[]record.Fault{fault("first", 1, 9_998, 11_000), fault("second", 1, 11_000, 11_500)},
			[]want{{"first", 1, 2000}, {"second", 1, 0}}},
		"a stop while the generator is late": {&history{slow: []stretch{{10 * sec, 13 * sec}},
			stalled: []stretch{{12_950 * ms, 13 * sec}}, down: []stretch{{12_950 * ms, 14 * sec}}},
			[]record.Fault{fault("slow", 1, 10_000, 13_000), fault("stop", 1, 12_999, 14_000)},
			[]want{{"slow", 1, 0}, {"stop", 1, 1050}}},
		"a command that takes long": {&history{down: []stretch{{10_100 * ms, 13 * sec}}},
			[]record.Fault{{Name: "restart", Number: 1, BeginNs: 10 * sec, DoneNs: 16_700 * ms}},
			[]want{{"restart", 1, 2900}}},
	} {
		t.Run(name, func(t *testing.T) {
			row.h.ratePerS, row.h.endNs = 1000, 30*sec
			f := accountOf(t, row.h, row.faults...)
			for _, w := range row.want {
				if got := outageOf(f, w.name, w.number); !near(got, w.outage*ms, 1000) {
					t.Errorf("%s %d has %d ms, want %d", w.name, w.number, got/ms, w.outage)
				}
			}
			if err := addsUp(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// An arrival that was in flight when a fault began at its address belongs to that fault, although another one lasts
// elsewhere.
func TestCauseOfArrivalsInFlight(t *testing.T) {
	one := &cause{Incident: record.Incident{Fault: "one", BeginNs: 10 * sec, EndNs: 13 * sec}, overNs: 15 * sec}
	two := &cause{Incident: record.Incident{Fault: "two", BeginNs: 13 * sec, EndNs: 15 * sec}, overNs: 15 * sec,
		addresses: []string{"b:1"}}
	for name, row := range map[string]struct {
		address  string
		of       []string // addresses of the first fault
		lagNs    int64
		at, seen int64 // ms
		outage   bool
		want     string
	}{
		"at the second one's address":          {"b:1", []string{"a:1"}, 0, 12_950, 13_020, false, "two"},
		"at the first one's address":           {"a:1", []string{"a:1"}, 0, 12_950, 13_020, false, "one"},
		"found to be bad before":               {"b:1", []string{"a:1"}, 0, 12_950, 12_990, false, "one"},
		"the first one's address isn't known":  {"b:1", nil, 0, 12_950, 13_020, false, "one"},
		"due much earlier":                     {"b:1", []string{"a:1"}, 0, 12_850, 13_020, false, "one"},
		"of all arrivals":                      {"", []string{"a:1"}, 0, 12_950, 13_020, false, "one"},
		"of all arrivals, just before":         {"", []string{"a:1"}, 0, 12_995, 13_020, false, "two"},
		"of all arrivals, sent late":           {"", []string{"a:1"}, 45 * ms, 12_950, 13_020, false, "two"},
		"an outage just before the second one": {"", []string{"a:1"}, 0, 12_950, 13_020, true, "two"},
		"an outage just after the first one":   {"", []string{"a:1"}, 0, 10_010, 13_020, true, "one"},
		"an outage that was found before":      {"", []string{"a:1"}, 0, 12_950, 12_990, true, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			one.addresses = row.of
			a := account{t: &Taker{spans: []span{{stretch: stretch{12 * sec, 13 * sec}, lagNs: row.lagNs}}},
				settings: &record.Failover{DeadlineNs: deadline}, causes: []*cause{one, two}}
			c := a.causeOf(&record.Scope{Address: row.address}, row.at*ms, row.seen*ms, row.outage)
			if c == nil || c.Fault != row.want {
				t.Errorf("it belongs to %+v, want %s", c, row.want)
			}
		})
	}
}

// addsUp returns an error unless the outages of a scope are those of its incidents, and the bad arrivals in them too.
func addsUp(f *record.Failover) error {
	type sum struct {
		ns  int64
		n   int
		bad uint64
	}
	all, own := map[record.Scope]sum{}, map[record.Scope]sum{}
	for _, o := range f.Outages {
		s := all[o.Scope]
		all[o.Scope] = sum{s.ns + o.EndNs - o.StartNs, s.n + 1, s.bad + o.Bad}
	}
	for i := range f.Incidents {
		for _, h := range f.Incidents[i].Scopes {
			s := own[h.Scope]
			own[h.Scope] = sum{s.ns + h.OutageNs, s.n + h.Outages, s.bad + h.Bad}
			if h.BrownOutNs > 0 && h.Bad == 0 {
				return fmt.Errorf("%s has a brown-out of %d ns, and no arrival of it was bad", f.Incidents[i].Fault, h.BrownOutNs)
			}
		}
	}
	for scope, s := range all {
		if o := own[scope]; o.ns != s.ns || o.n != s.n {
			return fmt.Errorf("%+v: %d outages of %d ns, and those of its incidents %d of %d ns", scope, s.n, s.ns, o.n, o.ns)
		}
		if o := own[scope]; o.bad < s.bad {
			return fmt.Errorf("%+v: %d bad arrivals in outages, and %d in incidents", scope, s.bad, o.bad)
		}
	}
	return nil
}

// On random timelines the outages and bad arrivals of the incidents are those of the run: none is counted twice, none
// is left out.
func TestIncidentsAddUp(t *testing.T) {
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		h := &history{ratePerS: 1000, endNs: 40 * sec, queue: seed%2 == 0, dead: map[int][]stretch{}}
		var faults []record.Fault
		var bad uint64
		for at := int64(4000); at < 34_000; at += 200 + rnd.Int64N(3000) {
			long := 30 + rnd.Int64N(1500)
			switch rnd.IntN(4) {
			case 0:
				h.down = append(h.down, stretch{(at - rnd.Int64N(5)) * ms, (at + long) * ms})
			case 1:
				h.flaky = append(h.flaky, stretch{at * ms, (at + long) * ms})
			case 2:
				h.dead[1] = append(h.dead[1], stretch{at * ms, (at + long) * ms})
			}
			if rnd.IntN(3) > 0 {
				f := fault("fault", len(faults)+1, at, at+rnd.Int64N(2*long))
				if rnd.IntN(2) == 0 {
					f.Addresses = []string{"b:1"}
				}
				faults = append(faults, f)
			}
			at += long
		}
		f := accountOf(t, h, faults...)
		if err := addsUp(f); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, s := range h.samples() {
			if s.Class != 0 || s.End-s.Intended > deadline {
				bad++
			}
		}
		var got uint64
		for i := range f.Incidents {
			got += f.Incidents[i].Scopes[0].Bad
		}
		if got > bad {
			t.Errorf("seed %d: the incidents have %d bad arrivals, and the run %d", seed, got, bad)
		}
	}
}

// The recovery from a command that takes longer than what it does is measured from its effect on.
func TestRecoveryFromALongCommand(t *testing.T) {
	h := &history{ratePerS: 1000, endNs: 30 * sec, down: []stretch{{10_100 * ms, 16_695 * ms}}}
	in := one(t, accountOf(t, h, record.Fault{Name: "restart", Number: 1, BeginNs: 10 * sec, DoneNs: 16_700 * ms}))
	if in.RTONs == nil || !near(*in.RTONs, 6595*ms, 1000) || !near(in.DetectionNs, 105*ms, 1000) {
		t.Errorf("recovered after %v, detected after %d", in.RTONs, in.DetectionNs)
	}
}

// The rate is that of the load's time, not of whole pages, so that a rate that is just enough is.
func TestRateOfTheAccount(t *testing.T) {
	h := &history{ratePerS: 100, endNs: 10 * sec}
	run := newRun()
	run.Failover.ToleranceNs = 100 * ms
	taker := NewTaker(run)
	intervals(t, h.samples(), h.endNs, nil, taker.Interval)
	taker.Fill(run)
	if f := run.Failover; !f.Refused.IsZero() || f.RatePerS < 99.5 || f.RatePerS > 100.5 {
		t.Errorf("%v/s, %v", f.RatePerS, f.Refused)
	}
}

// A stall of the generator, by however many stops, isn't the servers' outage.
func TestShortStallsOfTheGenerator(t *testing.T) {
	h := &history{ratePerS: 1000, endNs: 20 * sec, down: []stretch{{10_100 * ms, 10_450 * ms}}}
	for name, row := range map[string]struct {
		heldNs, deadlineNs int64
		want               bool
	}{"none": {0, deadline, false}, "a short one": {40 * ms, deadline, false},
		"one stop as long as the outage":         {350 * ms, deadline, true},
		"half of the outage, in a long deadline": {200 * ms, sec, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun()
			run.Failover.DeadlineNs = row.deadlineNs
			taker := NewTaker(run)
			intervals(t, h.samples(), h.endNs, nil, func(iv *measure.Interval) error {
				if iv.StartNs == 10*sec {
					iv.Health.HeldNs = row.heldNs
				}
				return taker.Interval(iv)
			})
			taker.Fill(run)
			if o := ofAll(run.Failover.Outages); len(o) != 1 || o[0].Invalid != row.want {
				t.Errorf("%+v, invalid should be %v", o, row.want)
			}
		})
	}
}
