package record

import (
	"fmt"
	"math"

	"brunt/internal/measure"
)

// Standstill sums up the times in which nothing succeeded although something should have; see
// measure.Standstill. Warm-up is excluded.
type Standstill struct {
	TotalNs   int64  `json:"total_ns"`
	Count     uint64 `json:"count"`
	LongestNs int64  `json:"longest_ns"`
	LeastNs   int64  `json:"least_ns"` // shorter ones are not counted
}

// rareSpacings is how many times the mean time between two successes a standstill must last. With
// successes at random a gap of 20 times their mean distance comes once in 500 million.
const rareSpacings = 20

// mostStandstills bounds what merged intervals name one by one.
const mostStandstills = 4096

// standstillTally keeps the lengths of standstills in fixed memory, exact to 0.1 %.
type standstillTally struct {
	lengths *measure.Histogram
}

// add takes an interval's; what lies before fromNs doesn't count.
func (t *standstillTally) add(iv *Interval, fromNs int64) {
	for _, s := range iv.Standstills {
		if ns := s.EndNs - max(s.StartNs, fromNs); ns >= measure.StandstillNs {
			if t.lengths == nil {
				t.lengths = measure.NewHistogram()
			}
			t.lengths.Record(ns)
		}
	}
}

// merge takes those of a part that ran at the same time if they are the larger: the parts saw one
// server.
func (t *standstillTally) merge(o *standstillTally) {
	if sumNs(o.lengths) > sumNs(t.lengths) {
		t.lengths = nil
		mergeInto(&t.lengths, o.lengths)
	}
}

// summary counts the standstills that are long beside the time between successes, those times in
// which nothing stood still taken.
func (t *standstillTally) summary(loadNs int64, ok uint64) Standstill {
	var s Standstill
	for {
		s.LeastNs = measure.StandstillNs
		if ok > 0 {
			s.LeastNs = max(s.LeastNs, rareSpacings*(max(loadNs-s.TotalNs, 0)/int64(ok)))
		}
		if t.lengths == nil {
			return s
		}
		before := s.Count
		s.Count = 0
		total := 0.0
		t.lengths.Each(func(lo, hi int64, n uint64) bool {
			if hi >= s.LeastNs {
				s.Count += n
				total += float64(n) * (float64(lo) + float64(hi)) / 2
			}
			return true
		})
		if s.Count > 0 {
			s.LongestNs = t.lengths.Max()
		}
		if s.Count == t.lengths.Count() {
			total = sumNs(t.lengths)
		}
		s.TotalNs = int64(min(math.Round(total), float64(maxNs)))
		if s.Count == before {
			return s
		}
	}
}

type standstillLine struct {
	StartNs int64 `json:"start_ns"`
	EndNs   int64 `json:"end_ns"`
}

func standstillLines(all []measure.Standstill) (lines []standstillLine) {
	for _, s := range all {
		lines = append(lines, standstillLine(s))
	}
	return lines
}

func decodeStandstills(lines []standstillLine) (all []measure.Standstill, err error) {
	for _, l := range lines {
		if l.StartNs < 0 || l.EndNs < l.StartNs || l.EndNs > maxNs {
			return nil, fmt.Errorf("a standstill from %d to %d ns makes no sense", l.StartNs, l.EndNs)
		}
		all = append(all, measure.Standstill(l))
	}
	return all, nil
}
