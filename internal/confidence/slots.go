package confidence

import (
	"math"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// slots cut time into pieces of equal numbers of intervals. When there are mostSlots of them, pairs are joined.
type slots struct {
	ns        []int64 // how long each is
	intervals int     // of a full slot
	open      int     // of the last
	all       []*stretch
}

// stretch is a distribution in its slots, of which only the last is not packed yet.
type stretch struct {
	slots   *slots
	kept    []slot // up to the last slot in which something happened
	h       *measure.Histogram
	scratch *measure.Histogram
}

type slot struct {
	done, noAnswer uint64
	packed         []byte // see measure.Histogram.AppendCompact
}

func (s *slots) stretch(scratch *measure.Histogram) *stretch {
	t := &stretch{slots: s, h: measure.NewHistogram(), scratch: scratch}
	s.all = append(s.all, t)
	return t
}

// begin begins an interval.
func (s *slots) begin(ns int64) {
	s.intervals = max(s.intervals, 1)
	if s.open == s.intervals || len(s.ns) == 0 {
		s.seal()
		if len(s.ns) == mostSlots {
			s.join()
		}
		s.ns, s.open = append(s.ns, 0), 0
	}
	s.open++
	s.ns[len(s.ns)-1] += ns
}

// seal packs the last slot.
func (s *slots) seal() {
	for _, t := range s.all {
		if t.h.Count() > 0 {
			last := t.last()
			last.packed = t.h.AppendCompact(nil)
			t.h.Reset()
		}
	}
}

// join makes one slot of every two.
func (s *slots) join() {
	s.intervals *= 2
	for k := range len(s.ns) / 2 {
		s.ns[k] = s.ns[2*k] + s.ns[2*k+1]
	}
	s.ns = s.ns[:len(s.ns)/2]
	for _, t := range s.all {
		if len(t.kept)%2 == 1 {
			t.kept = append(t.kept, slot{})
		}
		for k := range len(t.kept) / 2 {
			a, b := &t.kept[2*k], &t.kept[2*k+1]
			t.scratch.Reset()
			t.scratch.MergeCompact(a.packed)
			t.scratch.MergeCompact(b.packed)
			t.kept[k] = slot{a.done + b.done, a.noAnswer + b.noAnswer, t.scratch.AppendCompact(nil)}
		}
		t.kept = t.kept[:len(t.kept)/2]
	}
}

// last is the stretch's part of the last slot.
func (t *stretch) last() *slot {
	for len(t.kept) < len(t.slots.ns) {
		t.kept = append(t.kept, slot{})
	}
	return &t.kept[len(t.kept)-1]
}

// add adds values of the interval that has begun.
func (t *stretch) add(h *measure.Histogram, done, noAnswer uint64) {
	if done+noAnswer+h.Count() == 0 {
		return
	}
	last := t.last()
	last.done, last.noAnswer = last.done+done, last.noAnswer+noAnswer
	if h.Count() > 0 {
		t.h.Merge(h)
	}
}

// sections are a distribution in ten parts of equal length.
type sections struct {
	ns       [parts]int64
	done     [parts]uint64
	counts   [parts]uint64 // of answers
	noAnswer [parts]uint64
	answers  [parts]figures // of those answered
	arrivals [parts]figures // of all; +Inf among those without an answer
}

// parts are the sections of a stretch, now that all of its time is over. A slot belongs to the part in which its middle
// lies.
func (s *slots) parts(t *stretch) *sections {
	s.seal()
	out, lengthNs, passedNs := &sections{}, int64(0), int64(0)
	for _, ns := range s.ns {
		lengthNs += ns
	}
	part := 0
	t.scratch.Reset()
	for k, ns := range s.ns {
		now := min(int(parts*(float64(passedNs)+float64(ns)/2)/float64(max(lengthNs, 1))), parts-1)
		if now != part {
			out.settle(part, t.scratch)
			part = now
		}
		passedNs += ns
		out.ns[part] += ns
		if k < len(t.kept) {
			of := &t.kept[k]
			out.done[part] += of.done
			out.noAnswer[part] += of.noAnswer
			t.scratch.MergeCompact(of.packed)
		}
	}
	out.settle(part, t.scratch)
	return out
}

// settle computes a part's figures of its values, and empties h.
func (s *sections) settle(k int, h *measure.Histogram) {
	s.counts[k] = h.Count()
	s.answers[k][0], s.arrivals[k][0] = h.Mean(), h.Mean()
	all := measure.Answers{Times: h, NoAnswer: s.noAnswer[k]}
	for i, q := range record.Quantiles {
		answered := h.Quantile(q)
		arrived := answered
		if all.NoAnswer > 0 {
			arrived = all.Quantile(q)
		}
		s.answers[k][1+i], s.arrivals[k][1+i] = float64(answered), float64(arrived)
		if arrived == measure.Infinite {
			s.arrivals[k][1+i] = math.Inf(1)
		}
	}
	h.Reset()
}

// values is how many there are, those without an answer included.
func (s *sections) values() (n float64) {
	for k := range parts {
		n += float64(s.counts[k] + s.noAnswer[k])
	}
	return n
}
