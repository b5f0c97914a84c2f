package measure

import (
	"math"
	"slices"

	"brunt/internal/protocol"
)

// SlotNs is the length of a time slot, 2.1 ms. For an account of outages, arrivals are counted by the slot of their
// intended start. Slot k begins at k·SlotNs on the run's clock.
const SlotNs = 1 << slotShift

const (
	slotShift = 21
	pageSlots = 512
	// mostPages limits a recorder's memory between two hand-overs, to 18 minutes of intended starts.
	mostPages = 1024
	// NoAddress is the address of arrivals that were given up before an address was chosen.
	NoAddress = -1
)

// Slot counts the fates of the arrivals whose intended start is in one time slot. A good arrival succeeded within the
// deadline after its intended start. Arrivals that would have been good if the generator had sent them on time say
// nothing about the server: Own counts them. All others are bad: those that failed, succeeded later, were never sent,
// or were in flight when the load was cut off.
type Slot struct {
	Index   int64
	Good    uint32
	Own     uint32
	Bad     uint32
	Failed  uint32 // of the bad ones
	Unknown uint32 // of the failed ones, those that may have been applied
	Waited  uint32 // of the bad ones, those that succeeded too late
	Retried uint32 // that took further attempts, with any outcome
	WaitNs  int64  // from intended start to end, summed over the bad ones
	SeenNs  int64  // when the first of the bad ones ended, on the run's clock; 0 if there is none
	// LastGood and LastBad are the intended starts of the last good (or own) arrival and of the last bad one, in ns after
	// the slot's start, plus 1; 0 if there is none or if it isn't known. They are kept for slots before a Silence.
	LastGood uint32
	LastBad  uint32
}

// Silence is the least number of slots without any arrival after which it is kept whether the last arrival before was
// good: in closed loads, and at an address whose sessions are lost, nothing falls due as long as an outage lasts.
const Silence = 8

// Add adds o, which must cover the same time slot.
func (s *Slot) Add(o *Slot) {
	s.Good += o.Good
	s.Own += o.Own
	s.Bad += o.Bad
	s.Failed += o.Failed
	s.Unknown += o.Unknown
	s.Waited += o.Waited
	s.Retried += o.Retried
	s.WaitNs += o.WaitNs
	if o.SeenNs != 0 && (s.SeenNs == 0 || o.SeenNs < s.SeenNs) {
		s.SeenNs = o.SeenNs
	}
	s.LastGood, s.LastBad = max(s.LastGood, o.LastGood), max(s.LastBad, o.LastBad)
}

// place returns where in its slot a time is, ns, plus 1.
func place(ns int64) uint32 { return uint32(ns&(SlotNs-1)) + 1 }

// empty reports whether the slot has no arrivals.
func (s *Slot) empty() bool { return s.Good == 0 && s.Own == 0 && s.Bad == 0 }

// bad adds a bad arrival that ended at endNs.
func (s *Slot) bad(intendedNs, endNs int64) {
	s.Add(&Slot{Bad: 1, WaitNs: max(endNs-intendedNs, 0), SeenNs: endNs, LastBad: place(intendedNs)})
}

// ArrivalSlots are the arrivals of one operation at one address, by intended start. The indices are ascending.
type ArrivalSlots struct {
	Operation int
	Address   int // NoAddress for arrivals that were given up before an address was chosen
	Slots     []Slot
}

// AddArrivals adds the arrivals of another machine or of a later interval. operations and addresses map the indices of
// o to those of iv; if they are nil, the indices are the same.
func (iv *Interval) AddArrivals(o *Interval, operations, addresses []int) {
	iv.ArrivalsLost += o.ArrivalsLost
	mapped := func(places []int, i int) int {
		if places == nil || i == NoAddress {
			return i
		}
		return places[i]
	}
	for i := range o.Arrivals {
		from := &o.Arrivals[i]
		operation, address := mapped(operations, from.Operation), mapped(addresses, from.Address)
		at := slices.IndexFunc(iv.Arrivals, func(a ArrivalSlots) bool {
			return a.Operation == operation && a.Address == address
		})
		if at < 0 {
			iv.Arrivals = append(iv.Arrivals, ArrivalSlots{operation, address, slices.Clone(from.Slots)})
			continue
		}
		iv.Arrivals[at].Slots = sumSlots(iv.Arrivals[at].Slots, from.Slots)
	}
}

// Shift moves arrivals to the slots of a clock that is byNs ahead.
func Shift(all []ArrivalSlots, byNs int64) {
	by := int64(math.Round(float64(byNs) / SlotNs))
	for i := range all {
		for k := range all[i].Slots {
			s := &all[i].Slots[k]
			s.Index += by
			if s.SeenNs != 0 {
				s.SeenNs += byNs
			}
		}
	}
}

// sumSlots merges two ascending lists.
func sumSlots(a, b []Slot) []Slot {
	out := make([]Slot, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Index < b[0].Index:
			out, a = append(out, a[0]), a[1:]
		case a[0].Index > b[0].Index:
			out, b = append(out, b[0]), b[1:]
		default:
			both := a[0]
			both.Add(&b[0])
			out, a, b = append(out, both), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// slotPage contains the slots of about a second.
type slotPage struct {
	from  int64 // its first slot's index
	slots [pageSlots]Slot
}

// pages are the slots of one operation at one address that have arrivals.
type pages struct {
	last *slotPage   // the one used last; nil at first
	all  []*slotPage // in the order of their first use
}

// pagePool contains the free pages of one owner.
type pagePool struct {
	deadlineNs int64 // the longest response time of a good arrival
	free       []*slotPage
	used       int
	lost       uint64 // arrivals without a page
}

// at returns the slot of an intended start, or nil if there is no free page.
func (p *pages) at(intendedNs int64, pool *pagePool) *Slot {
	index := intendedNs >> slotShift
	if p.last != nil {
		if k := uint64(index - p.last.from); k < pageSlots {
			return &p.last.slots[k]
		}
	}
	from := index &^ (pageSlots - 1)
	for i := len(p.all) - 1; i >= 0; i-- {
		if p.all[i].from == from {
			p.last = p.all[i]
			return &p.last.slots[index-from]
		}
	}
	if pool.used == mostPages {
		pool.lost++
		return nil
	}
	pool.used++
	p.last = pool.take()
	p.last.from = from
	p.all = append(p.all, p.last)
	return &p.last.slots[index-from]
}

func (pool *pagePool) take() *slotPage {
	if n := len(pool.free); n > 0 {
		p := pool.free[n-1]
		pool.free = pool.free[:n-1]
		return p
	}
	return new(slotPage)
}

// reset returns the pages to the pool.
func (p *pages) reset(pool *pagePool) {
	for _, used := range p.all {
		clear(used.slots[:])
		pool.free = append(pool.free, used)
	}
	pool.used -= len(p.all)
	p.all, p.last = p.all[:0], nil
}

// note adds a sample to the slot of its intended start.
func (p *pages) note(s *Sample, pool *pagePool) {
	slot := p.at(s.Intended, pool)
	if slot == nil {
		return
	}
	if s.Attempts > 1 {
		slot.Retried++
	}
	if s.Class == protocol.OK {
		switch took := s.End - s.Intended; {
		case took <= pool.deadlineNs:
			slot.Good++
			slot.LastGood = max(slot.LastGood, place(s.Intended))
			return
		case took-s.generatorDelay() <= pool.deadlineNs:
			slot.Own++
			slot.LastGood = max(slot.LastGood, place(s.Intended))
			return
		}
		slot.Waited++
		slot.bad(s.Intended, s.End)
		return
	}
	slot.Failed++
	if s.Class == protocol.UnknownOutcome {
		slot.Unknown++
	}
	slot.bad(s.Intended, s.End)
}

// noteLost adds an arrival without a sample. own says that the generator gave it up although it could have been sent.
// Operations of closed loads that were not sent have no intended start.
func (b *buffer) noteLost(operation, address int, intendedNs, nowNs int64, own bool) {
	if b.pool == nil || intendedNs == never {
		return
	}
	switch slot := b.cell(operation, address).arrivals.at(intendedNs, b.pool); {
	case slot == nil:
	case own:
		slot.Own++
		slot.LastGood = max(slot.LastGood, place(intendedNs))
	default:
		slot.bad(intendedNs, nowNs)
	}
}

// arrivalSums collects the slots of the current interval.
type arrivalSums struct {
	pool  pagePool
	cells []pages // as buffer.cells
	out   []ArrivalSlots
}

// take adds the slots that an owner has handed over.
func (a *arrivalSums) take(b *buffer) {
	if b.pool == nil {
		return
	}
	a.pool.lost += b.pool.lost
	for i, c := range b.cells {
		if c == nil || c.arrivals == nil {
			continue
		}
		for _, from := range c.arrivals.all {
			for k := range from.slots {
				s := &from.slots[k]
				if s.empty() {
					continue
				}
				if to := a.cells[i].at((from.from+int64(k))<<slotShift, &a.pool); to != nil {
					to.Add(s)
				}
			}
		}
	}
}

// forgetLast forgets the last arrivals of slots that aren't before a silence.
func forgetLast(slots []Slot) {
	for i := range slots[:max(len(slots)-1, 0)] {
		if s := &slots[i]; slots[i+1].Index-s.Index <= Silence {
			s.LastGood, s.LastBad = 0, 0
		}
	}
}

// list returns the collected slots and resets them. The next call reuses the memory.
func (a *arrivalSums) list(columns int) (all []ArrivalSlots, lost uint64) {
	n := 0
	for i := range a.cells {
		cell := &a.cells[i]
		if len(cell.all) == 0 {
			continue
		}
		if n == len(a.out) {
			a.out = append(a.out, ArrivalSlots{})
		}
		to := &a.out[n]
		n++
		to.Operation, to.Address, to.Slots = i/columns, i%columns, to.Slots[:0]
		if to.Address == columns-1 {
			to.Address = NoAddress
		}
		slices.SortFunc(cell.all, func(x, y *slotPage) int { return int(x.from - y.from) })
		for _, p := range cell.all {
			for k := range p.slots {
				if s := p.slots[k]; !s.empty() {
					s.Index = p.from + int64(k)
					to.Slots = append(to.Slots, s)
				}
			}
		}
		cell.reset(&a.pool)
		forgetLast(to.Slots)
	}
	lost, a.pool.lost = a.pool.lost, 0
	return a.out[:n], lost
}
