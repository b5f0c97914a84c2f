package failover

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

const (
	ms  = 1_000_000
	sec = 1_000_000_000
)

// history describes arrivals with known fates.
type history struct {
	ratePerS float64
	endNs    int64
	down     []stretch // times at which servers don't answer
	slow     []stretch // times at which answers take 30 ms
	flaky    []stretch // times at which every tenth arrival fails
	queue    bool      // arrivals wait for the end of an outage; otherwise they fail after the deadline
	stalled  []stretch // times at which the generator sends nothing
	pauses   []stretch
	dead     map[int][]stretch // by address: no arrivals are sent to it, except for two that fail
}

const deadline = 100 * ms

// samples returns the arrivals, which alternate between two addresses.
func (h *history) samples() (all []measure.Sample) {
	gap := 1e9 / h.ratePerS
	for i := 0; ; i++ {
		at := int64(float64(i) * gap)
		if at >= h.endNs {
			return all
		}
		if in(h.pauses, at) != nil {
			continue
		}
		s := measure.Sample{Operation: i / 2 % 2, Address: i % 2, Open: true, Intended: at, Ready: 1, Sent: at, Attempts: 1,
			End: at + 2*ms}
		for address, times := range h.dead {
			if d := in(times, at); d != nil && address == s.Address && at > d.fromNs+int64(4*gap) {
				s.Address = 1 - address
			} else if d != nil && address == s.Address {
				s.Class = protocol.Connect
			}
		}
		if d := in(h.stalled, at); d != nil {
			s.Sent, s.End = d.toNs, d.toNs+2*ms
		}
		switch d := in(h.down, at); {
		case d != nil && h.queue:
			s.Ready, s.Sent, s.End = d.toNs, d.toNs, d.toNs+2*ms
		case d != nil:
			s.End, s.Class = at+deadline+5*ms, protocol.UnknownOutcome
		case in(h.slow, at) != nil:
			s.End = at + 30*ms
		case in(h.flaky, at) != nil && i%10 == 0:
			s.Class = protocol.Server
		}
		all = append(all, s)
	}
}

func in(all []stretch, at int64) *stretch {
	for i := range all {
		if at >= all[i].fromNs && at < all[i].toNs {
			return &all[i]
		}
	}
	return nil
}

// intervals returns the intervals of one second that recorders and their collector produce from samples.
func intervals(t *testing.T, samples []measure.Sample, endNs int64, pauses []stretch,
	f func(*measure.Interval) error) {
	t.Helper()
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b measure.Sample) int { return cmp.Compare(a.End, b.End) })
	var recorders []*measure.Recorder
	c := measure.NewCollectorWaiting(2, 2, func(int) bool {
		for _, r := range recorders {
			r.Poll()
		}
		return true
	})
	c.KeepArrivals(deadline)
	recorders = append(recorders, c.NewRecorder(), c.NewRecorder())
	last := endNs
	if n := len(samples); n > 0 {
		last = max(last, samples[n-1].End)
	}
	for end := int64(sec); end < last+sec; end += sec {
		for len(samples) > 0 && samples[0].End <= end {
			recorders[len(samples)%2].Record(&samples[0])
			samples = samples[1:]
		}
		kind := measure.KindOpen
		if in(pauses, end-sec) != nil {
			kind = measure.KindPause
		}
		if err := f(c.Cut(end, measure.Meta{Phase: "load", Kind: kind, Drain: end > endNs})); err != nil {
			t.Fatal(err)
		}
	}
}

func newRun() *record.Run {
	return &record.Run{
		Operations: []record.Operation{{Name: "read"}, {Name: "write"}},
		Targets:    []record.Target{{Address: "a:1"}, {Address: "b:1"}},
		Failover:   &record.Failover{DeadlineNs: deadline, ToleranceNs: 50 * ms, HoldNs: 3 * sec},
	}
}

func accountOf(t *testing.T, h *history, faults ...record.Fault) *record.Failover {
	t.Helper()
	run := newRun()
	taker := NewTaker(run)
	intervals(t, h.samples(), h.endNs, h.pauses, taker.Interval)
	run.Faults = faults
	taker.Fill(run)
	return run.Failover
}

// near reports whether a time is correct within two slots and two gaps between arrivals.
func near(got, want int64, ratePerS float64) bool {
	slack := int64(2*measure.SlotNs + 2*1e9/ratePerS)
	return got >= want-slack && got <= want+slack
}

func ofAll(all []record.Outage) (out []record.Outage) {
	for _, o := range all {
		if o.Scope == (record.Scope{}) {
			out = append(out, o)
		}
	}
	return out
}

// Random outages are found, with their beginnings and ends.
func TestOutagesAreThoseOfTheHistory(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := &history{ratePerS: 500 + 3000*rnd.Float64(), queue: seed%3 == 0}
		for at := int64(5 * sec); len(h.down) < 4; {
			d := stretch{at, at + 60*ms + rnd.Int64N(3*sec)}
			h.down = append(h.down, d)
			at = d.toNs + sec + rnd.Int64N(4*sec)
			h.endNs = at + 5*sec
		}
		got := ofAll(accountOf(t, h).Outages)
		var want []stretch
		for _, d := range h.down {
			if h.queue {
				d.toNs -= deadline - 2*ms // arrivals that waited less than the deadline were good
			}
			if d.toNs-d.fromNs > 60*ms {
				want = append(want, d)
			}
		}
		if len(got) < len(want) || len(got) > len(h.down) {
			t.Errorf("seed %d: %d outages %+v, want those of %+v", seed, len(got), got, want)
			continue
		}
		for _, w := range want {
			if !slices.ContainsFunc(got, func(o record.Outage) bool {
				return near(o.StartNs, w.fromNs, h.ratePerS) && near(o.EndNs, w.toNs, h.ratePerS) && o.Ended
			}) {
				t.Errorf("seed %d: no outage from %d to %d ms in %+v", seed, w.fromNs/ms, w.toNs/ms, got)
			}
		}
	}
}

func TestIncidents(t *testing.T) {
	down := func(from, to int64) []stretch { return []stretch{{from * ms, to * ms}} }
	kill := func(at int64) []record.Fault {
		return []record.Fault{{Name: "kill", Number: 1, BeginNs: at * ms, DoneNs: (at + 10) * ms}}
	}
	for name, row := range map[string]struct {
		h      history
		faults []record.Fault
		want   func(t *testing.T, f *record.Failover)
	}{
		"a fault": {history{down: down(10_000, 11_500)}, kill(9_990), func(t *testing.T, f *record.Failover) {
			in := one(t, f)
			if in.Fault != "kill" || !near(in.FirstAffectedNs, 10_000*ms, 1000) || !near(in.NoticedNs, 10_105*ms, 1000) ||
				!near(in.DetectionNs, 105*ms, 1000) {
				t.Errorf("begun at %d, noticed at %d, after %d ns", in.FirstAffectedNs, in.NoticedNs, in.DetectionNs)
			}
			if in.RTONs == nil || !near(*in.RTONs, 1500*ms, 1000) || in.Unconfirmed || in.Never {
				t.Errorf("recovery: %+v", in)
			}
			all := in.Scopes[0]
			if all.Failed != 1500 || all.Unknown != 1500 || all.Bad != 1500 || !near(all.OutageNs, 1500*ms, 1000) {
				t.Errorf("harm: %+v", all)
			}
		}},
		"an outage without a fault": {history{down: down(10_000, 11_500)}, nil, func(t *testing.T, f *record.Failover) {
			if in := one(t, f); in.Fault != "" || in.RTONs == nil || !near(*in.RTONs, 1500*ms, 1000) {
				t.Errorf("%+v", in)
			}
		}},
		"waiting arrivals are bad, and none is lost": {history{down: down(10_000, 11_500), queue: true}, kill(9_990),
			func(t *testing.T, f *record.Failover) {
				all := one(t, f).Scopes[0]
				if all.Failed != 0 || all.Waited == 0 || all.Waited != all.Bad || all.WaitNs == 0 {
					t.Errorf("harm: %+v", all)
				}
			}},
		"flapping": {history{down: []stretch{{10 * sec, 11 * sec}, {12 * sec, 13 * sec}, {14 * sec, 15 * sec}}},
			kill(9_990), func(t *testing.T, f *record.Failover) {
				in := one(t, f)
				if in.Relapses != 2 || in.RTONs == nil || !near(*in.RTONs, 5*sec, 1000) || in.Scopes[0].Outages != 3 {
					t.Errorf("%+v", in)
				}
			}},
		"never": {history{down: down(10_000, 30_000)}, kill(9_990), func(t *testing.T, f *record.Failover) {
			if in := one(t, f); !in.Never || in.RTONs != nil || f.Outages[0].Ended || in.EndNs != 30*sec {
				t.Errorf("%+v, outage %+v", in, f.Outages[0])
			}
		}},
		"well again shortly before the end": {history{down: down(10_000, 28_000)}, kill(9_990),
			func(t *testing.T, f *record.Failover) {
				if in := one(t, f); in.Never || !in.Unconfirmed || in.RTONs == nil || !near(*in.RTONs, 18*sec, 1000) {
					t.Errorf("%+v", in)
				}
			}},
		"slow answers delay recovery": {history{down: down(10_000, 11_000), slow: down(11_000, 15_000)}, kill(9_990),
			func(t *testing.T, f *record.Failover) {
				in := one(t, f)
				if in.RTONs == nil || *in.RTONs < 3*sec || *in.RTONs > 7*sec {
					t.Errorf("%+v", in)
				}
			}},
		"a brown-out": {history{flaky: down(10_000, 14_000)}, kill(9_990), func(t *testing.T, f *record.Failover) {
			in := one(t, f)
			all := in.Scopes[0]
			if all.Outages != 0 || all.BrownOutNs < 3500*ms || all.BrownOutNs > 4700*ms || in.RTONs == nil ||
				!near(*in.RTONs, 4*sec, 50) {
				t.Errorf("%+v", in)
			}
		}},
		"nothing follows": {history{}, kill(9_990), func(t *testing.T, f *record.Failover) {
			if in := one(t, f); in.Affected || in.Never || len(f.Outages) > 0 {
				t.Errorf("%+v", in)
			}
		}},
		"a pause is no outage": {history{down: down(9_900, 10_000), pauses: down(10_000, 20_000)}, nil,
			func(t *testing.T, f *record.Failover) {
				if o := ofAll(f.Outages); len(o) != 1 || !near(o[0].EndNs, 10*sec, 1000) {
					t.Errorf("%+v", o)
				}
			}},
		"an address that nobody asks": {history{dead: map[int][]stretch{1: down(10_000, 16_000)}}, kill(9_990),
			func(t *testing.T, f *record.Failover) {
				in := one(t, f)
				at := slices.IndexFunc(in.Scopes, func(h record.Harm) bool { return h.Address == "b:1" })
				if at < 0 || !near(in.Scopes[at].OutageNs, 6*sec, 500) || in.Scopes[0].Outages != 0 {
					t.Errorf("%+v", in.Scopes)
				}
			}},
		"every fault and their spread": {history{down: []stretch{{10 * sec, 11 * sec}, {20 * sec, 22 * sec}}},
			append(kill(10_000), record.Fault{Name: "kill", Number: 2, BeginNs: 20 * sec, DoneNs: 20 * sec}),
			func(t *testing.T, f *record.Failover) {
				if len(f.Incidents) != 2 || len(f.ByFault) != 1 || f.ByFault[0].N != 2 ||
					!near(f.ByFault[0].RTO.LeastNs, sec, 1000) || !near(f.ByFault[0].RTO.MostNs, 2*sec, 1000) ||
					!near(f.ByFault[0].RTO.MedianNs, 1500*ms, 1000) {
					t.Errorf("%+v: %+v", *f.ByFault[0].RTO, f.Incidents)
				}
			}},
		"too few": {history{ratePerS: 150, down: down(10_000, 12_000)}, kill(9_990),
			func(t *testing.T, f *record.Failover) {
				if f.Refused.ID != "failover.few" || len(f.Outages)+len(f.Incidents) > 0 {
					t.Errorf("%+v", f)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			h := row.h
			h.ratePerS, h.endNs = max(h.ratePerS, 1000), 30*sec
			if row.h.ratePerS != 0 {
				h.ratePerS = row.h.ratePerS
			}
			row.want(t, accountOf(t, &h, row.faults...))
		})
	}
}

func one(t *testing.T, f *record.Failover) *record.Incident {
	t.Helper()
	if len(f.Incidents) != 1 {
		t.Fatalf("%d incidents: %+v", len(f.Incidents), f.Incidents)
	}
	return &f.Incidents[0]
}

// A generator that stood still makes an outage invalid, and the outage is not part of the spread.
func TestOutageOfTheGenerator(t *testing.T) {
	h := &history{ratePerS: 1000, endNs: 30 * sec, down: []stretch{{10 * sec, 12 * sec}}}
	run := newRun()
	taker := NewTaker(run)
	intervals(t, h.samples(), h.endNs, nil, func(iv *measure.Interval) error {
		if iv.StartNs == 11*sec {
			iv.Health.PausedNs = sec
		}
		return taker.Interval(iv)
	})
	run.Faults = []record.Fault{{Name: "kill", Number: 1, BeginNs: 10 * sec, DoneNs: 10 * sec}}
	taker.Fill(run)
	f := run.Failover
	if !f.Outages[0].Invalid || !f.Incidents[0].Invalid || f.ByFault[0].Invalid != 1 || f.ByFault[0].RTO != nil {
		t.Errorf("%+v", f)
	}
}

// What a generator made late by itself is no outage, and is named as the generator's.
func TestStallOfTheGenerator(t *testing.T) {
	stall := []stretch{{10 * sec, 10_350 * ms}}
	h := &history{ratePerS: 1000, endNs: 30 * sec, stalled: stall, down: []stretch{{10_700 * ms, 10_900 * ms}}}
	f := accountOf(t, h)
	if out := ofAll(f.Outages); len(out) != 1 || !near(out[0].StartNs, 10_700*ms, 1000) || len(f.Incidents) != 1 {
		t.Errorf("outages %+v, incidents %+v: want only the server's", out, f.Incidents)
	}
	// Arrivals of the last 100 ms are within the deadline.
	if len(f.Stalls) != 1 || !near(f.Stalls[0].StartNs, 10*sec, 1000) || !near(f.Stalls[0].EndNs, 10_250*ms, 1000) {
		t.Errorf("stalls %+v", f.Stalls)
	}
}

// In closed loads, nothing is due while the generator stands still; the requests in flight are late.
func TestStallOfTheGeneratorInAClosedLoad(t *testing.T) {
	const begun = 10_649 * ms
	account := func(stoodNs, told int64) *record.Failover {
		run := newRun()
		taker := NewTaker(run)
		var all []measure.Sample
		for at := int64(0); at < 30*sec; at += 1 * ms {
			s := measure.Sample{Address: int(at/ms) % 2, Intended: at, Sent: at, Attempts: 1, End: at + ms}
			if at == begun {
				at += 350 * ms
				s.End = at
			}
			all = append(all, s)
		}
		intervals(t, all, 30*sec, nil, func(iv *measure.Interval) error {
			iv.Kind = measure.KindClosed
			if iv.StartNs == told {
				iv.Health.HeldNs = stoodNs
			}
			return taker.Interval(iv)
		})
		taker.Fill(run)
		return run.Failover
	}
	for _, told := range []int64{10 * sec, 11 * sec} { // it ended at the end of the interval before
		if f := account(340*ms, told); len(f.Outages) > 0 || len(f.Incidents) > 0 || len(f.Stalls) != 1 {
			t.Errorf("%+v", f)
		}
	}
	if f := account(0, 0); len(ofAll(f.Outages)) != 1 || len(f.Stalls) > 0 {
		t.Errorf("of the server: %+v", f)
	}
}

// In an open load, arrivals that waited for the backlog of a stall can look like the server's. If each was
// answered, they are the generator's; if some failed, or the generator ran, they are the server's.
func TestBacklogOfAStall(t *testing.T) {
	for _, c := range []struct {
		heldNs   int64
		answered bool
		stalls   int
	}{{340 * ms, true, 1}, {340 * ms, false, 0}, {100 * ms, true, 0}} {
		h := &history{ratePerS: 1000, endNs: 30 * sec, down: []stretch{{10 * sec, 10_350 * ms}}, queue: c.answered}
		run := newRun()
		taker := NewTaker(run)
		intervals(t, h.samples(), h.endNs, nil, func(iv *measure.Interval) error {
			if iv.StartNs == 10*sec {
				iv.Health.HeldNs = c.heldNs
			}
			return taker.Interval(iv)
		})
		taker.Fill(run)
		if f := run.Failover; len(f.Stalls) != c.stalls || len(ofAll(f.Outages)) != 1-c.stalls {
			t.Errorf("%+v: stalls %+v, outages %+v", c, f.Stalls, f.Outages)
		}
	}
}

// In a closed load without think time all sessions fail within the slot of their last good answers, and none of them
// asks again before the server is back. The outage is told nevertheless, for all arrivals, for the operation and for
// the address.
func TestOutageOfAClosedLoadWithoutPauses(t *testing.T) {
	account := func(badFirst bool) *record.Failover {
		run := newRun()
		run.Operations = run.Operations[:1]
		const took, away = ms / 4, 260 * ms
		down := stretch{10*sec + 100_000, 10*sec + 100_000 + away}
		var all []measure.Sample
		for session := range 16 {
			for at := int64(session * 1000); at < 12*sec; at += took {
				s := measure.Sample{Intended: at, Sent: at, Attempts: 1, End: at + took, Address: session % 2}
				if s.End > down.fromNs && at < down.toNs {
					s.Class, s.End = protocol.Timeout, at+deadline
					at = down.toNs + int64(session*1000) // connected again
					if badFirst && session > 0 {
						s.Class, s.End = protocol.OK, s.Intended+ms
					}
				}
				all = append(all, s)
			}
		}
		taker := NewTaker(run)
		intervals(t, all, 12*sec, nil, func(iv *measure.Interval) error {
			iv.Kind = measure.KindClosed
			return taker.Interval(iv)
		})
		taker.Fill(run)
		return run.Failover
	}
	f := account(false)
	addresses := map[string]int{}
	for _, o := range f.Outages {
		addresses[o.Scope.Address]++
		if !near(o.StartNs, 10*sec, 2*measure.SlotNs) || !near(o.EndNs, 10_260*ms, 2*measure.SlotNs) || !o.Ended {
			t.Errorf("outage %+v, want one from 10 to 10.26 s", o)
		}
	}
	if want := map[string]int{"": 1, "a:1": 1, "b:1": 1}; !reflect.DeepEqual(addresses, want) || f.Outages[0].Bad == 0 {
		t.Errorf("outages %+v, want %v", f.Outages, want)
	}
	// A failure before the last good arrivals of all is none: the others may have nothing to do.
	if all := ofAll(account(true).Outages); len(all) > 0 {
		t.Errorf("outages %+v after a good answer", all)
	}
}

// Parts of a load that are added up interval by interval have the same account as the whole.
func TestPartsAddUp(t *testing.T) {
	h := &history{ratePerS: 3000, endNs: 30 * sec, down: []stretch{{10 * sec, 11_500 * ms}},
		flaky: []stretch{{15 * sec, 16 * sec}}}
	all := h.samples()
	want := accountOf(t, h)

	run := newRun()
	taker := NewTaker(run)
	var parts [3][]measure.Interval
	for part := range parts {
		var own []measure.Sample
		for i := part; i < len(all); i += len(parts) {
			own = append(own, all[i])
		}
		intervals(t, own, h.endNs, nil, func(iv *measure.Interval) error {
			sum := *iv
			sum.Account, sum.Arrivals = measure.Account{}, nil
			sum.Account.AddParallel(&iv.Account, nil, []int{0, 1})
			sum.AddArrivals(iv, nil, nil)
			parts[part] = append(parts[part], sum)
			return nil
		})
	}
	for i := range parts[0] {
		sum := parts[0][i]
		for _, part := range parts[1:] {
			sum.Account.AddParallel(&part[i].Account, nil, []int{0, 1})
			sum.AddArrivals(&part[i], nil, nil)
		}
		if err := taker.Interval(&sum); err != nil {
			t.Fatal(err)
		}
	}
	taker.Fill(run)
	if !reflect.DeepEqual(run.Failover, want) {
		t.Errorf("parts:\n%+v\nwhole:\n%+v", run.Failover, want)
	}
}

// An outage of hours takes one slot per second at most, and its length is exact.
func TestLongOutageIsThinnedOut(t *testing.T) {
	s := newScope(record.Scope{})
	for index := int64(0); index < 400*pageSlots; index++ {
		slot := measure.Slot{Index: index, Bad: 2, Failed: 2, WaitNs: 5, SeenNs: index * measure.SlotNs}
		if index < 2*pageSlots || index > 390*pageSlots {
			slot = measure.Slot{Index: index, Good: 2}
		}
		s.add(&slot)
		s.thinOut()
	}
	slots, bad := 0, uint64(0)
	s.bads(0, 400*pageNs, func(slot *measure.Slot) {
		slots++
		bad += uint64(slot.Bad)
	})
	if slots > (wholePages+1)*pageSlots+400 || bad != 2*388*pageSlots+2 {
		t.Errorf("%d slots with %d bad arrivals", slots, bad)
	}
	got := s.outages(ms, 400*pageNs, nil)
	if len(got) != 1 || got[0].StartNs != 2*pageNs || got[0].EndNs != 390*pageNs+measure.SlotNs {
		t.Errorf("%+v", got)
	}
}
