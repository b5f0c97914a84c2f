package confidence

import (
	"math"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// slots divide time into pieces with equal numbers of intervals. When there are mostSlots of them, pairs are merged.
type slots struct {
	ns        []int64 // length of each slot
	intervals int     // number of intervals in a full slot
	open      int     // number of intervals in the last slot
	all       []*stretch
}

// stretch holds a distribution per slot. All but the last slot are stored in compact form.
type stretch struct {
	slots   *slots
	kept    []slot // up to the last slot with values
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

// begin begins an interval of the given length.
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

// seal stores the last slot in compact form.
func (s *slots) seal() {
	for _, t := range s.all {
		if t.h.Count() > 0 {
			last := t.last()
			last.packed = t.h.AppendCompact(nil)
			t.h.Reset()
		}
	}
}

// join merges pairs of slots.
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

// last returns the stretch's entry for the last slot.
func (t *stretch) last() *slot {
	for len(t.kept) < len(t.slots.ns) {
		t.kept = append(t.kept, slot{})
	}
	return &t.kept[len(t.kept)-1]
}

// add adds values of the current interval.
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

// sections holds a distribution in ten parts of equal length.
type sections struct {
	ns       [parts]int64
	done     [parts]uint64
	counts   [parts]uint64 // of answers
	noAnswer [parts]uint64
	answers  [parts]figures // of the answered arrivals
	arrivals [parts]figures // of all arrivals; +Inf if the figure lies among those without an answer
}

// parts returns the sections of a stretch. It must be called after the last interval. A slot belongs to the part that
// contains its middle.
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

// settle computes the figures of part k from the values in h, and empties h.
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

// values returns the number of values, including arrivals without an answer.
func (s *sections) values() (n float64) {
	for k := range parts {
		n += float64(s.counts[k] + s.noAnswer[k])
	}
	return n
}
