package measure

import (
	"fmt"
	"slices"
	"testing"

	"brunt/internal/protocol"
)

// sampleMs returns a sample with times in milliseconds: the intended start, the send and the end of an operation.
func sampleMs(intended, sent, end int64, class protocol.Class) *Sample {
	return &Sample{Intended: intended * 1e6, Sent: sent * 1e6, End: end * 1e6, Attempts: 1, Class: class}
}

// found formats standstills in milliseconds.
func found(standstills []Standstill) (out []string) {
	for _, s := range standstills {
		out = append(out, fmt.Sprintf("%d-%d", s.StartNs/1e6, s.EndNs/1e6))
	}
	return out
}

// act is an event of a run with two owners.
type act func(c *Collector, owners []*Shared) (iv *Interval)

// answers is a success of an owner every 10 ms, sent 1 ms before.
func answers(owner int, from, to int64) act {
	return func(_ *Collector, owners []*Shared) *Interval {
		for t := from; t <= to; t += 10 {
			owners[owner].Record(sampleMs(t-1, t-1, t, protocol.OK))
		}
		return nil
	}
}

func one(owner int, intended, sent, end int64, class protocol.Class) act {
	return func(_ *Collector, owners []*Shared) *Interval {
		owners[owner].Record(sampleMs(intended, sent, end, class))
		return nil
	}
}

// connected is an operation whose session became ready only after its intended start.
func connected(owner int, intended, ready, end int64) act {
	return func(_ *Collector, owners []*Shared) *Interval {
		s := sampleMs(intended, ready, end, protocol.OK)
		s.Ready = ready * 1e6
		owners[owner].Record(s)
		return nil
	}
}

// closing closes an owner's recorder.
func closing(owner int) act {
	return func(_ *Collector, owners []*Shared) *Interval { owners[owner].Close(); return nil }
}

func cutAt(end int64) act { return cutWith(end, Meta{}) }

func cutWith(end int64, m Meta) act {
	return func(c *Collector, _ []*Shared) *Interval { return c.Cut(end*1e6, m) }
}

func TestStandstills(t *testing.T) {
	const ok, failed = protocol.OK, protocol.Timeout
	for name, c := range map[string]struct {
		acts []act
		want []string
	}{
		"a steady load":   {[]act{answers(0, 10, 500), answers(1, 15, 500), cutAt(500)}, nil},
		"nothing was due": {[]act{answers(0, 10, 200), answers(0, 5000, 5200), cutAt(5200)}, nil},
		"from the sending of the first on": {
			[]act{answers(0, 10, 200), one(0, 206, 206, 1200, ok), one(0, 216, 216, 1200, ok), answers(0, 1201, 1300),
				cutAt(1300)},
			[]string{"207-1200"}},
		"whatever the order of what was in flight": {
			[]act{answers(0, 10, 200), one(0, 226, 226, 1202, ok), one(0, 206, 206, 1200, ok), one(0, 216, 216, 1201, ok),
				cutAt(1300)},
			[]string{"207-1200"}},
		"from the last success on, if something was in flight then": {
			[]act{answers(0, 10, 200), one(0, 150, 150, 1200, ok), cutAt(1300)}, []string{"200-1200"}},
		"across intervals, where it ends": {
			[]act{answers(0, 10, 200), cutAt(500), cutAt(1000), one(0, 206, 206, 1200, ok), cutAt(1500), answers(0, 1500, 1600),
				cutAt(2000)},
			[]string{"207-1200"}},
		"only if no owner has a success": {
			[]act{answers(0, 10, 200), one(0, 206, 206, 1200, ok), answers(1, 10, 400), one(1, 401, 401, 1100, ok),
				answers(1, 1101, 1200), cutAt(1300)},
			[]string{"400-1100"}},
		"not while one owner has them": {
			[]act{answers(0, 10, 200), one(0, 206, 206, 1200, ok), answers(1, 10, 1200), cutAt(1300)}, nil},
		"of owners cut between": {
			[]act{answers(0, 10, 200), answers(1, 15, 200), cutAt(500), one(0, 206, 206, 1000, ok), answers(0, 1000, 1490),
				cutAt(1500),
				one(1, 207, 207, 1001, ok), answers(0, 1500, 1900), cutAt(2000)},
			[]string{"207-1000"}},
		"failures don't end it": {
			[]act{answers(0, 10, 200), one(0, 205, 205, 210, failed), one(0, 300, 300, 600, failed),
				one(0, 900, 900, 905, failed), one(0, 999, 999, 1000, ok), cutAt(1000)},
			[]string{"206-1000"}},
		"failures of earlier intervals count": {
			[]act{answers(0, 10, 200), one(0, 205, 205, 210, failed), cutAt(500), one(0, 505, 505, 510, failed), cutAt(900),
				one(0, 999, 999, 1000, ok), cutAt(1000)},
			[]string{"206-1000"}},
		"a failure before the last success is over": {
			[]act{answers(0, 10, 100), one(0, 105, 105, 110, failed), answers(0, 111, 200), cutAt(500),
				one(0, 999, 999, 1000, ok), cutAt(1000)}, nil},
		"arrivals that no connection was there for": {
			[]act{answers(0, 10, 200), connected(0, 250, 1200, 1201), cutAt(1300)}, []string{"251-1201"}},
		"the end of the load ends it": {
			[]act{answers(0, 10, 200), one(0, 205, 205, 210, failed), cutAt(500), cutWith(900, Meta{Idle: true}),
				cutWith(2000, Meta{Idle: true}), answers(0, 2010, 2100), cutAt(2100)},
			[]string{"206-900"}},
		"nothing ever succeeded": {
			[]act{one(0, 50, 50, 51, failed), one(0, 950, 950, 951, failed), cutWith(1000, Meta{Idle: true})},
			[]string{"50-1000"}},
		"the generator slept": {
			[]act{answers(0, 10, 200), one(0, 200, 200, 2200, ok), cutWith(2300, Meta{Health: Health{PausedNs: 1_930_000_000}})},
			nil},
		"the generator slept for a part of it": {
			[]act{answers(0, 10, 200), one(0, 200, 200, 2200, ok), cutWith(2300, Meta{Health: Health{PausedNs: 500_000_000}})},
			[]string{"701-2200"}},
		"the generator slept, and the answers came in the next interval": {
			[]act{answers(0, 10, 200), cutWith(2199, Meta{Health: Health{PausedNs: 1_930_000_000}}), one(0, 200, 200, 2200, ok),
				cutAt(3000)}, nil},
		"of an owner that is gone, once": {
			[]act{answers(0, 10, 200), one(0, 206, 206, 1200, ok), one(0, 1206, 1206, 2200, ok), closing(0), cutAt(2300)},
			[]string{"207-1200", "1207-2200"}},
		"late sends of a generator that slept": {
			[]act{answers(0, 10, 200), one(0, 300, 2200, 2201, ok), one(0, 310, 2200, 2201, ok), cutAt(2300)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			collector := NewCollector(1, 1)
			owners := []*Shared{collector.NewShared(), collector.NewShared()}
			var got []string
			var end int64
			for _, a := range append(c.acts, nil) {
				if a == nil { // the load ends
					a = cutWith(end/1e6+1, Meta{Idle: true})
				}
				if iv := a(collector, owners); iv != nil {
					got, end = append(got, found(iv.Standstills)...), iv.EndNs
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Each operation has its own standstills. Successes of other operations neither end nor cause them.
func TestStandstillsOfOperations(t *testing.T) {
	const ok, failed = protocol.OK, protocol.Timeout
	const read, update = 0, 1
	const owners = 2
	// every is a success of an operation every 10 ms, sent 1 ms before.
	every := func(operation, owner int, from, to int64) act {
		return func(_ *Collector, owners []*Shared) *Interval {
			for t := from; t <= to; t += 10 {
				s := sampleMs(t-1, t-1, t, ok)
				s.Operation = operation
				owners[owner].Record(s)
			}
			return nil
		}
	}
	single := func(operation, owner int, sent, end int64, class protocol.Class) act {
		return func(_ *Collector, owners []*Shared) *Interval {
			s := sampleMs(sent, sent, end, class)
			s.Operation = operation
			owners[owner].Record(s)
			return nil
		}
	}
	for name, c := range map[string]struct {
		acts               []act
		all, reads, writes []string
	}{
		"both go on": {acts: []act{every(read, 0, 10, 2000), every(update, 0, 15, 2000), cutAt(2000)}},
		"updates hang": {
			acts: []act{every(read, 0, 10, 2000), every(update, 0, 15, 500), single(update, 1, 510, 1500, ok),
				every(update, 1, 1505, 2000), cutAt(2000)},
			writes: []string{"511-1500"},
		},
		"updates fail": {
			acts: []act{every(read, 0, 10, 3000), every(update, 1, 15, 500), single(update, 0, 520, 530, failed), cutAt(600),
				single(update, 1, 800, 805, failed), cutAt(1600), single(update, 1, 1700, 1705, ok), every(update, 1, 1710, 3000),
				cutAt(3000)},
			writes: []string{"521-1705"},
		},
		"nobody asked for updates": {
			acts: []act{every(read, 0, 10, 3000), every(update, 0, 15, 500), cutAt(1000), every(update, 0, 2510, 3000),
				cutAt(3000)},
		},
		"a failure long before nobody asked": {
			acts: []act{every(read, 0, 10, 3000), single(update, 1, 100, 105, failed), every(update, 0, 15, 500), cutAt(1000),
				every(update, 0, 2510, 3000), cutAt(3000)},
		},
		"updates are over, of which one had failed": {
			acts: []act{every(read, 0, 10, 3000), single(update, 1, 100, 105, failed), every(update, 0, 15, 500), cutAt(1000),
				cutWith(3000, Meta{Idle: true})},
		},
		"another owner has updates": {
			acts: []act{every(read, 0, 10, 2000), every(update, 1, 15, 2000), single(update, 0, 510, 1500, ok), cutAt(2000)},
		},
		"nothing succeeds": {
			acts: []act{every(read, 0, 10, 500), every(update, 1, 15, 500), single(read, 0, 502, 1500, ok),
				single(update, 1, 510, 1500, ok), every(read, 0, 1510, 2000), every(update, 0, 1515, 2000), cutAt(2000)},
			all: []string{"503-1500"}, reads: []string{"503-1500"}, writes: []string{"511-1500"},
		},
		"updates are rare": {
			acts: []act{every(read, 0, 10, 2000), single(update, 0, 300, 500, ok), single(update, 0, 700, 900, ok),
				single(update, 0, 1300, 1500, ok), cutAt(2000)},
		},
		"the generator slept": {
			acts: []act{every(read, 0, 10, 200), every(update, 0, 15, 195), single(update, 0, 200, 2200, ok),
				single(read, 0, 201, 2200, ok), cutWith(2300, Meta{Health: Health{PausedNs: 1_930_000_000}})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			collector := NewCollector(2, 1)
			shared := make([]*Shared, owners)
			for i := range shared {
				shared[i] = collector.NewShared()
			}
			var all, reads, writes []string
			var end int64
			for _, a := range append(c.acts, nil) {
				if a == nil { // the load ends
					a = cutWith(end/1e6+1, Meta{Idle: true})
				}
				if iv := a(collector, shared); iv != nil {
					end = iv.EndNs
					all = append(all, found(iv.Standstills)...)
					reads = append(reads, found(iv.Operations[read].Standstills)...)
					writes = append(writes, found(iv.Operations[update].Standstills)...)
				}
			}
			if !slices.Equal(all, c.all) {
				t.Errorf("of all %v, want %v", all, c.all)
			}
			if !slices.Equal(reads, c.reads) {
				t.Errorf("of reads %v, want %v", reads, c.reads)
			}
			if !slices.Equal(writes, c.writes) {
				t.Errorf("of updates %v, want %v", writes, c.writes)
			}
			if n := collector.Total().Operations[update].StandstillLengths.Count(); n != uint64(len(c.writes)) {
				t.Errorf("%d of updates in all, want %d", n, len(c.writes))
			}
		})
	}
}

// A recorder that is never asked uses bounded memory for gaps.
func TestLullsAreBounded(t *testing.T) {
	q, told := &gapFinder{}, &told{}
	for i := range int64(3 * mostGaps) {
		q.succeeded(sampleMs(200*i, 200*i, 200*i+150, protocol.OK))
	}
	if len(q.gaps) != mostGaps {
		t.Errorf("%d gaps", len(q.gaps))
	}
	told.take(q)
	told.take(q)
	if len(told.gaps) != mostGaps {
		t.Errorf("%d gaps", len(told.gaps))
	}
}
