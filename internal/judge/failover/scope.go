package failover

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Time is divided into slots (measure.SlotNs). 64 slots are a step, and 8 steps are a page.
const (
	stepSlots = 64
	stepNs    = stepSlots * measure.SlotNs // 134 ms
	pageSteps = 8
	pageSlots = pageSteps * stepSlots
	pageNs    = pageSteps * stepNs
	// wholePages is the number of recent pages that keep every bad slot. In older pages without a good arrival the bad
	// slots are merged into one, so that an outage of hours needs no more memory than a short one.
	wholePages = 64
)

// page holds about one second (1.07 s) of a scope's arrivals.
type page struct {
	goods   [pageSteps]uint64 // one bit per slot; set if a good arrival was due in it
	good    [pageSteps]uint32 // good arrivals per step
	bad     [pageSteps]uint32
	own     [pageSteps]own
	bads    []measure.Slot // slots with bad or retried arrivals, in order; their Good is 0
	thinned bool           // bads was merged into one slot
	lasts   []last         // of slots before a silence, in order
}

// last says when the last arrivals of a slot were due; see measure.Slot.
type last struct {
	index     int64
	good, bad uint32
}

// endsBad reports whether the last arrival of a slot with good and bad ones was bad, and nothing fell due for a while
// after it.
func (p *page) endsBad(index int64) bool {
	at, there := p.lastOf(index)
	return there && p.lasts[at].bad > p.lasts[at].good
}

func (p *page) lastOf(index int64) (at int, there bool) {
	return slices.BinarySearchFunc(p.lasts, index, func(l last, index int64) int { return cmp.Compare(l.index, index) })
}

// addLast adds what is known of a slot's last arrivals.
func (p *page) addLast(slot *measure.Slot) {
	if slot.LastGood == 0 && slot.LastBad == 0 {
		return
	}
	at, there := p.lastOf(slot.Index)
	if !there {
		p.lasts = slices.Insert(p.lasts, at, last{index: slot.Index})
	}
	l := &p.lasts[at]
	l.good, l.bad = max(l.good, slot.LastGood), max(l.bad, slot.LastBad)
}

// own are the arrivals of a step that were late only because of the generator.
type own struct {
	n           uint32
	first, last int64 // the first and the last slot with such arrivals
}

func (o *own) add(slot *measure.Slot) {
	if o.n == 0 {
		o.first, o.last = slot.Index, slot.Index
	}
	o.n += slot.Own
	o.first, o.last = min(o.first, slot.Index), max(o.last, slot.Index)
}

// scope holds the arrivals of one operation, of one address, or of all.
type scope struct {
	record.Scope
	pages map[int64]*page // by index
	thin  int64           // index of the first page that isn't thinned out yet
	most  int64           // index of the last page
}

func newScope(s record.Scope) *scope { return &scope{Scope: s, pages: map[int64]*page{}} }

// add adds the arrivals of a slot.
func (s *scope) add(slot *measure.Slot) {
	index := slot.Index / pageSlots
	p := s.pages[index]
	if p == nil {
		p = &page{}
		s.pages[index] = p
		s.most = max(s.most, index)
	}
	p.addLast(slot)
	k := slot.Index % pageSlots
	if slot.Own > 0 {
		p.own[k/stepSlots].add(slot)
	}
	if slot.Good > 0 || slot.Own > 0 { // both end an outage: of the servers, the latter show no harm
		p.goods[k/stepSlots] |= 1 << (k % stepSlots)
		p.good[k/stepSlots] += slot.Good
	}
	if slot.Bad == 0 && slot.Retried == 0 {
		return
	}
	p.bad[k/stepSlots] += slot.Bad
	at, there := slices.BinarySearchFunc(p.bads, slot.Index, func(have measure.Slot, index int64) int {
		return cmp.Compare(have.Index, index)
	})
	bad := *slot
	bad.Good, bad.Own = 0, 0
	switch {
	case p.thinned:
		p.bads[0].Add(&bad)
		p.bads[0].Index = min(p.bads[0].Index, bad.Index)
	case there:
		p.bads[at].Add(&bad)
	default:
		p.bads = slices.Insert(p.bads, at, bad)
	}
}

// thinOut merges the bad slots of each old page that has no good arrival, and forgets last arrivals that were good.
func (s *scope) thinOut() {
	for ; s.thin < s.most-wholePages; s.thin++ {
		p := s.pages[s.thin]
		if p == nil {
			continue
		}
		p.lasts = slices.DeleteFunc(p.lasts, func(l last) bool { return l.bad <= l.good })
		if p.goods != [pageSteps]uint64{} || len(p.bads) < 2 {
			continue
		}
		sum := p.bads[0]
		for i := range p.bads[1:] {
			sum.Add(&p.bads[i+1])
		}
		p.bads, p.thinned = []measure.Slot{sum}, true
	}
}

// order returns the indices of the pages, ascending.
func (s *scope) order() []int64 { return slices.Sorted(maps.Keys(s.pages)) }

// count returns the number of good and bad arrivals in the steps [from, to).
func (s *scope) count(from, to int64) (good, bad uint64) {
	for k := from; k < to; k++ {
		if p := s.pages[k/pageSteps]; p != nil {
			good += uint64(p.good[k%pageSteps])
			bad += uint64(p.bad[k%pageSteps])
		}
	}
	return good, bad
}

// bads calls f for each slot in [fromNs, toNs) that has bad or retried arrivals, in order.
func (s *scope) bads(fromNs, toNs int64, f func(*measure.Slot)) {
	for index := fromNs / pageNs; index <= toNs/pageNs && index <= s.most; index++ {
		p := s.pages[index]
		if p == nil {
			continue
		}
		for i := range p.bads {
			if at := p.bads[i].Index * measure.SlotNs; at >= fromNs && at < toNs {
				f(&p.bads[i])
			}
		}
	}
}

// seenNs returns when the bad arrivals of the slot at a time were first found to be bad.
func (s *scope) seenNs(atNs int64) (seen int64) {
	s.bads(atNs, atNs+measure.SlotNs, func(slot *measure.Slot) { seen = slot.SeenNs })
	return seen
}

// outages returns the maximal stretches of time in which every arrival was bad, if they last at least leastNs. gaps
// are times without any arrivals due; a gap ends an outage. endNs is the end of the load. A stretch begins with the
// slot of its first bad arrival, or, if good ones were due in that slot too, with the next: unless no arrival is
// due in the next.
func (s *scope) outages(leastNs, endNs int64, gaps []stretch) (out []record.Outage) {
	var open *record.Outage
	lastBad := int64(0) // end of the last bad slot
	end := func(atNs int64, ended bool) {
		if g := gapIn(gaps, lastBad-measure.SlotNs, atNs); g != nil {
			atNs, ended = max(g.fromNs, lastBad), true
		}
		open.EndNs, open.Ended = atNs, ended
		if open.EndNs-open.StartNs >= leastNs {
			out = append(out, *open)
		}
		open = nil
	}
	for _, index := range s.order() {
		p := s.pages[index]
		next := 0
		for slot := range p.busy() {
			at := (index*pageSlots + slot) * measure.SlotNs
			for next < len(p.bads) && p.bads[next].Index < index*pageSlots+slot {
				next++
			}
			if p.goods[slot/stepSlots]>>(slot%stepSlots)&1 == 1 {
				if open != nil {
					end(at, true)
				}
				if p.endsBad(index*pageSlots + slot) {
					open = &record.Outage{Scope: s.Scope, StartNs: at, Bad: uint64(p.bads[next].Bad)}
					lastBad = at + measure.SlotNs
				}
				continue
			}
			if open != nil && gapIn(gaps, lastBad-measure.SlotNs, at) != nil {
				end(at, true)
			}
			if open == nil {
				open = &record.Outage{Scope: s.Scope, StartNs: at}
			}
			open.Bad += uint64(p.bads[next].Bad)
			lastBad = at + measure.SlotNs
		}
	}
	if open != nil {
		end(max(endNs, lastBad), false)
	}
	return out
}

// stalls returns the times in which the generator itself made at least enough arrivals late that the servers answered
// in time.
func (s *scope) stalls() (out []record.Stall) {
	for _, index := range s.order() {
		for k := range s.pages[index].own {
			o := &s.pages[index].own[k]
			if o.n == 0 {
				continue
			}
			begin, end := o.first*measure.SlotNs, (o.last+1)*measure.SlotNs
			if n := len(out); n > 0 && begin-out[n-1].EndNs < stepNs {
				out[n-1].EndNs = end
				out[n-1].Arrivals += uint64(o.n)
				continue
			}
			out = append(out, record.Stall{StartNs: begin, EndNs: end, Arrivals: uint64(o.n)})
		}
	}
	return slices.DeleteFunc(out, func(x record.Stall) bool { return x.Arrivals < enough })
}

// busy yields, in order, the slots of the page (counted from its start) that have a good or a bad arrival.
func (p *page) busy() func(func(int64) bool) {
	return func(yield func(int64) bool) {
		next := 0
		for step, goods := range p.goods {
			from := int64(step) * stepSlots
			all := goods
			for next < len(p.bads) && p.bads[next].Index%pageSlots < from+stepSlots {
				if p.bads[next].Bad > 0 {
					all |= 1 << (p.bads[next].Index % stepSlots)
				}
				next++
			}
			for all != 0 {
				k := bits.TrailingZeros64(all)
				all &^= 1 << k
				if !yield(from + int64(k)) {
					return
				}
			}
		}
	}
}

// stretch is a period of time on the run's clock.
type stretch struct{ fromNs, toNs int64 }

// gapIn returns the first gap that begins between fromNs and toNs, both excluded; nil if there is none.
func gapIn(gaps []stretch, fromNs, toNs int64) *stretch {
	for i := range gaps {
		if gaps[i].fromNs > fromNs && gaps[i].fromNs < toNs {
			return &gaps[i]
		}
	}
	return nil
}
