// Package timeline records the course of a run in a bounded number of slots, for charts. When there are too many slots,
// it joins them in pairs and keeps the extremes. It does no I/O.
package timeline

import (
	"cmp"
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// DefaultSlots is the default limit of a timeline's slots: more than fit on a screen.
const DefaultSlots = 1440

// Slot is a summary of one or more consecutive intervals.
type Slot struct {
	StartNs, EndNs int64
	Phase          string // phase in which it began
	WarmUp         bool
	Open           bool // part of it belongs to the schedule of an open load

	OK, Failed, Dropped, Offered uint64
	Errors                       [protocol.NumClasses]uint64
	NoAnswer                     uint64
	RateLow, RateHigh            float64 // extremes of the intervals' successes per second
	intervals                    float64
	Response, Service            Sketch
	First, Between               Sketch // of answers that were streams: to the first message, between messages
	ResponseMaxNs                int64

	Backlog        uint64 // maximum
	Sessions, Busy int    // at the end of the slot
	CPU, CPUHigh   float64
	LoopBusyHigh   float64
	OthersNs       int64
	StealNs        int64
	ObservedNs     int64
	RSSBytes       uint64
	GCPauseNs      int64
	PausedNs       int64
}

// Timeline collects slots. It is a measure.Sink and must be used by one goroutine only.
type Timeline struct {
	Slots       []Slot
	Standstills []measure.Standstill // the longest ones
	Events      []measure.Event
	// Operations and Addresses are the timelines of single operations and addresses, with slots of the same lengths;
	// see Part. Those of addresses have no response times.
	Operations, Addresses []*Timeline
	StandstillCount       int // number of all standstills

	most       int
	perSlot    int // intervals in a full slot
	filled     int // intervals in the last slot
	generation int
	mostParts  int
}

var _ measure.Sink = (*Timeline)(nil)

// New returns an empty timeline with at most most slots, which must be an even number; 0 means DefaultSlots.
func New(most int) *Timeline {
	return &Timeline{most: cmp.Or(most, DefaultSlots), perSlot: 1}
}

// Part makes the timeline also record each operation and each address separately, if there are 2 to most of them. It
// must be called before the first interval.
func (t *Timeline) Part(most int) { t.mostParts = most }

// part creates the timelines of operations and addresses at the first interval.
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

// Generation returns how often slots have been joined. As long as it stays the same, earlier slots don't change.
func (t *Timeline) Generation() int { return t.generation }

// Clone returns a copy that later intervals don't change. It copies the slots but not their sketches, which are
// replaced and never modified.
func (t *Timeline) Clone() *Timeline {
	c := *t
	c.Slots = slices.Clone(t.Slots)
	c.Standstills = slices.Clone(t.Standstills)
	c.Events = slices.Clone(t.Events)
	return &c
}

// mostStandstills is the greatest number of standstills that are kept for drawing.
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

// take appends a slot or adds it to the last one.
func (t *Timeline) take(s Slot) {
	s.RateLow = s.RatePerS()
	s.RateHigh = s.RateLow
	if n := len(t.Slots); n > 0 && t.Slots[n-1].WarmUp == s.WarmUp {
		last := &t.Slots[n-1]
		// the remainder at the end of a phase is too short for its own slot
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

// halve joins slots in pairs. It never joins warm-up with load.
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

// span returns an empty slot for an interval.
func span(iv *measure.Interval) Slot {
	return Slot{intervals: 1, StartNs: iv.StartNs, EndNs: iv.EndNs, Phase: iv.Phase, WarmUp: iv.WarmUp,
		ObservedNs: iv.DurationNs()}
}

// slotOf returns the slot for everything that happened in an interval.
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

// count adds the counts and times of an operation.
func (s *Slot) count(o *measure.OperationAccount) {
	s.OK += o.OK()
	s.Failed += o.Failed()
	s.Dropped += o.Dropped()
	s.NoAnswer += o.NoAnswer()
	for k, n := range o.Errors {
		s.Errors[k] += n
	}
	s.Response, s.Service = s.Response.Add(SketchOf(o.Response)), s.Service.Add(SketchOf(o.Service))
	s.First, s.Between = s.First.Add(SketchOf(o.StreamFirst)), s.Between.Add(SketchOf(o.StreamBetween))
	s.ResponseMaxNs = max(s.ResponseMaxNs, o.Response.Max())
}

// Streamed reports whether there were answers that were streams.
func (s Slot) Streamed() bool { return len(s.First) > 0 }

// Max returns the longest response time in ns; NaN if nothing was answered.
func (s *Slot) Max() float64 {
	if s.ResponseMaxNs == 0 {
		return math.NaN()
	}
	return float64(s.ResponseMaxNs)
}

// add adds the next slot to s.
func (s *Slot) add(o *Slot) {
	a, b := float64(s.ObservedNs), float64(o.ObservedNs)
	if a+b > 0 {
		s.CPU = (s.CPU*a + o.CPU*b) / (a + b)
	}
	// the remainder at the end of a phase is too short for a meaningful rate
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
	s.First, s.Between = s.First.Add(o.First), s.Between.Add(o.Between)
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

// Seconds returns the slot's length in seconds.
func (s *Slot) Seconds() float64 { return float64(s.EndNs-s.StartNs) / 1e9 }

// PerS returns n per second of the slot's length; NaN for an empty slot.
func (s *Slot) PerS(n uint64) float64 {
	if s.EndNs <= s.StartNs {
		return math.NaN()
	}
	return float64(n) / s.Seconds()
}

// RatePerS returns the mean number of successes a second.
func (s *Slot) RatePerS() float64 { return s.PerS(s.OK) }
