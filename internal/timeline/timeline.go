// Package timeline keeps what happened over a run's time in a bounded number of slots, for charts: when
// there are too many, each two become one, and extremes stay. It does no I/O.
package timeline

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// DefaultSlots is how many slots a timeline has at most unless it is told otherwise: more than a screen has room for.
const DefaultSlots = 1440

// Slot is what happened in a stretch of time: an interval or several.
type Slot struct {
	StartNs, EndNs int64
	Phase          string // in which it began
	WarmUp         bool
	Open           bool // some of it was of an open load's schedule

	OK, Failed, Dropped, Offered uint64
	Errors                       [protocol.NumClasses]uint64
	NoAnswer                     uint64
	RateLow, RateHigh            float64 // of the intervals' successes per second
	intervals                    float64
	Response, Service            Sketch
	ResponseMaxNs                int64

	Backlog        uint64 // the most
	Sessions, Busy int    // at its end
	CPU, CPUHigh   float64
	LoopBusyHigh   float64
	OthersNs       int64
	StealNs        int64
	ObservedNs     int64
	RSSBytes       uint64
	GCPauseNs      int64
	PausedNs       int64
}

// Timeline collects slots. It is a measure.Sink, used by one goroutine.
type Timeline struct {
	Slots       []Slot
	Standstills []measure.Standstill // the longest
	Events      []measure.Event
	// Operations and Addresses are slots of the same lengths of single operations and addresses; see Part. Those of
	// addresses have no response time.
	Operations, Addresses []*Timeline
	StandstillCount       int // all of them

	most       int
	perSlot    int // intervals in a full slot
	filled     int // in the last one
	generation int
	mostParts  int
}

var _ measure.Sink = (*Timeline)(nil)

// New returns an empty timeline of at most so many slots, which must be even; 0 means DefaultSlots.
func New(most int) *Timeline {
	if most == 0 {
		most = DefaultSlots
	}
	return &Timeline{most: most, perSlot: 1}
}

// Part makes the timeline keep operations and addresses apart, too, if there are 2 of them to so many. It is called
// before the first interval.
func (t *Timeline) Part(most int) { t.mostParts = most }

// part makes the parts of the first interval.
func (t *Timeline) part(iv *measure.Interval) {
	for _, of := range []struct {
		n  int
		to *[]*Timeline
	}{{len(iv.Operations), &t.Operations}, {len(iv.Addresses), &t.Addresses}} {
		for k := 0; 1 < of.n && of.n <= t.mostParts && k < of.n; k++ {
			*of.to = append(*of.to, New(t.most))
		}
	}
}

// Generation counts how often slots were joined: while it stays, earlier slots stay as they are.
func (t *Timeline) Generation() int { return t.generation }

// Clone returns a copy that later intervals don't change. It costs a copy of the slots, not of their sketches, which
// are replaced and never changed.
func (t *Timeline) Clone() *Timeline {
	c := *t
	c.Slots = slices.Clone(t.Slots)
	c.Standstills = slices.Clone(t.Standstills)
	c.Events = slices.Clone(t.Events)
	return &c
}

// mostStandstills is how many standstills are drawn.
const mostStandstills = 200

// Interval implements measure.Sink. It never fails.
func (t *Timeline) Interval(iv *measure.Interval) error {
	if len(t.Slots) == 0 {
		t.part(iv)
	}
	t.StandstillCount += len(iv.Standstills)
	for _, s := range iv.Standstills {
		if len(t.Standstills) < mostStandstills {
			t.Standstills = append(t.Standstills, s)
			continue
		}
		shortest := 0
		for i, have := range t.Standstills {
			if have.EndNs-have.StartNs < t.Standstills[shortest].EndNs-t.Standstills[shortest].StartNs {
				shortest = i
			}
		}
		if have := t.Standstills[shortest]; have.EndNs-have.StartNs < s.EndNs-s.StartNs {
			t.Standstills[shortest] = s
		}
	}
	t.Events = append(t.Events, iv.Events[:min(len(iv.Events), measure.MaxEvents-len(t.Events))]...)
	for i, part := range t.Operations {
		s := span(iv)
		if i < len(iv.Operations) {
			s.count(&iv.Operations[i])
		}
		part.take(s)
	}
	for i, part := range t.Addresses {
		s := span(iv)
		if i < len(iv.Addresses) {
			a := &iv.Addresses[i]
			s.count(&measure.OperationAccount{Counts: a.Counts, Service: a.Service})
		}
		part.take(s)
	}
	t.take(slotOf(iv))
	return nil
}

// take appends a slot, or adds it to the last one.
func (t *Timeline) take(s Slot) {
	s.RateLow = s.RatePerS()
	s.RateHigh = s.RateLow
	if n := len(t.Slots); n > 0 && t.Slots[n-1].WarmUp == s.WarmUp {
		last := &t.Slots[n-1]
		// What is left at a phase's end is too short for a slot of its own.
		rest := s.EndNs-s.StartNs < (last.EndNs-last.StartNs)/int64(4*t.filled)
		if t.filled < t.perSlot || rest {
			last.add(&s)
			t.filled++
			return
		}
	}
	if len(t.Slots) == t.most {
		t.halve()
	}
	t.Slots = append(t.Slots, s)
	t.filled = 1
}

// halve joins slots in pairs. Warm-up stays apart.
func (t *Timeline) halve() {
	out := t.Slots[:0]
	for i := 0; i < len(t.Slots); {
		s := t.Slots[i]
		i++
		if i < len(t.Slots) && t.Slots[i].WarmUp == s.WarmUp {
			s.add(&t.Slots[i])
			i++
		}
		out = append(out, s)
	}
	clear(t.Slots[len(out):])
	t.Slots = out
	t.perSlot *= 2
	t.generation++
}

// span is an empty slot of an interval.
func span(iv *measure.Interval) Slot {
	return Slot{intervals: 1, StartNs: iv.StartNs, EndNs: iv.EndNs, Phase: iv.Phase, WarmUp: iv.WarmUp,
		ObservedNs: iv.DurationNs()}
}

// slotOf is the slot of all that happened in an interval.
func slotOf(iv *measure.Interval) Slot {
	h, s := &iv.Health, span(iv)
	s.Open, s.Offered, s.Backlog, s.Sessions, s.Busy = iv.OpenNs > 0, iv.Offered, iv.Backlog, iv.Sessions, iv.Busy
	s.CPU, s.CPUHigh, s.LoopBusyHigh, s.OthersNs, s.StealNs = h.ProcessCPU, h.ProcessCPU, h.LoopBusy, h.OthersNs, h.StealNs
	s.RSSBytes, s.GCPauseNs, s.PausedNs = h.RSSBytes, h.GCPauseNsMax, h.PausedNs
	for i := range iv.Operations {
		s.count(&iv.Operations[i])
	}
	return s
}

// count adds what an operation did.
func (s *Slot) count(o *measure.OperationAccount) {
	s.OK += o.OK()
	s.Failed += o.Failed()
	s.Dropped += o.Dropped()
	s.NoAnswer += o.NoAnswer()
	for k, n := range o.Errors {
		s.Errors[k] += n
	}
	s.Response, s.Service = s.Response.Add(SketchOf(o.Response)), s.Service.Add(SketchOf(o.Service))
	s.ResponseMaxNs = max(s.ResponseMaxNs, o.Response.Max())
}

// Max is the longest response time in ns, NaN where nothing was answered.
func (s *Slot) Max() float64 {
	if s.ResponseMaxNs == 0 {
		return math.NaN()
	}
	return float64(s.ResponseMaxNs)
}

// add adds the slot that followed.
func (s *Slot) add(o *Slot) {
	a, b := float64(s.ObservedNs), float64(o.ObservedNs)
	if a+b > 0 {
		s.CPU = (s.CPU*a + o.CPU*b) / (a + b)
	}
	// The remainder that ends a phase is too short for a rate of its own.
	if 2*b*s.intervals >= a*o.intervals {
		s.RateLow, s.RateHigh = min(s.RateLow, o.RateLow), max(s.RateHigh, o.RateHigh)
	}
	s.intervals += o.intervals
	s.EndNs, s.Sessions, s.Busy = o.EndNs, o.Sessions, o.Busy
	s.Open = s.Open || o.Open
	s.OK += o.OK
	s.Failed += o.Failed
	s.Dropped += o.Dropped
	s.Offered += o.Offered
	s.NoAnswer += o.NoAnswer
	for k, n := range o.Errors {
		s.Errors[k] += n
	}
	s.Response, s.Service = s.Response.Add(o.Response), s.Service.Add(o.Service)
	s.ResponseMaxNs = max(s.ResponseMaxNs, o.ResponseMaxNs)
	s.Backlog = max(s.Backlog, o.Backlog)
	s.CPUHigh, s.LoopBusyHigh = max(s.CPUHigh, o.CPUHigh), max(s.LoopBusyHigh, o.LoopBusyHigh)
	s.OthersNs += o.OthersNs
	s.StealNs += o.StealNs
	s.ObservedNs += o.ObservedNs
	s.RSSBytes = max(s.RSSBytes, o.RSSBytes)
	s.GCPauseNs = max(s.GCPauseNs, o.GCPauseNs)
	s.PausedNs += o.PausedNs
}

// Seconds is the slot's length.
func (s *Slot) Seconds() float64 { return float64(s.EndNs-s.StartNs) / 1e9 }

// PerS is n over the slot's length.
func (s *Slot) PerS(n uint64) float64 {
	if s.EndNs <= s.StartNs {
		return math.NaN()
	}
	return float64(n) / s.Seconds()
}

// RatePerS is the mean of successes a second.
func (s *Slot) RatePerS() float64 { return s.PerS(s.OK) }
