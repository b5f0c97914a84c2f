package wrk

import (
	"math"
	"slices"

	"brunt/internal/measure"
)

// Stats are values with their counts, as wrk keeps them: in whole microseconds, or in requests a second.
type Stats struct {
	values []int64 // ascending
	counts map[int64]uint64
	count  uint64
	// Least and Most are the least and the greatest value that were recorded.
	Least, Most int64
}

// NewStats returns empty statistics.
func NewStats() *Stats { return &Stats{counts: map[int64]uint64{}} }

// Add records a value n times.
func (s *Stats) Add(v int64, n uint64) {
	if n == 0 {
		return
	}
	if s.count == 0 || v < s.Least {
		s.Least = v
	}
	s.Most = max(s.Most, v)
	s.add(v, n)
}

func (s *Stats) add(v int64, n uint64) {
	if s.counts[v] == 0 {
		s.values = nil
	}
	s.counts[v] += n
	s.count += n
}

// AddNs records the values of a histogram of nanoseconds in microseconds. Histograms have three significant digits, and
// know their least and greatest value, which are values of the statistics too: a script may look for them there.
func (s *Stats) AddNs(h *measure.Histogram) {
	first, left := true, h.Count()
	one := func(v int64, n *uint64) {
		if *n > 0 {
			s.Add(v/1000, 1)
			*n, left = *n-1, left-1
		}
	}
	h.Each(func(lo, hi int64, n uint64) bool {
		if first {
			one(h.Min(), &n)
			first = false
		}
		if left == n {
			one(h.Max(), &n)
		}
		s.Add(min(max(lo+(hi-lo)/2, h.Min()), h.Max())/1000, n)
		left -= n
		return true
	})
}

// sorted returns the values in ascending order.
func (s *Stats) sorted() []int64 {
	if s.values == nil {
		for v := range s.counts {
			s.values = append(s.values, v)
		}
		slices.Sort(s.values)
	}
	return s.values
}

// Correct adds the requests that a connection would have sent while it waited for an answer, if it had sent one every
// expected units of time, as wrk does in the end (stats_correct): for each value, values less by 1, 2, … times the
// expected time.
func (s *Stats) Correct(expected int64) {
	if expected <= 0 {
		return
	}
	for _, v := range slices.Clone(s.sorted()) {
		if v < 2*expected {
			continue
		}
		n := s.counts[v]
		for m := v - expected; m > expected; m -= expected {
			s.add(m, n)
		}
	}
}

// Count returns the number of values.
func (s *Stats) Count() uint64 { return s.count }

// Mean returns the mean; 0 if there are no values.
func (s *Stats) Mean() float64 {
	if s.count == 0 {
		return 0
	}
	var sum float64
	for _, v := range s.sorted() {
		sum += float64(v) * float64(s.counts[v])
	}
	return sum / float64(s.count)
}

// Stdev returns the standard deviation of the sample.
func (s *Stats) Stdev() float64 {
	if s.count < 2 {
		return 0
	}
	mean, sum := s.Mean(), 0.0
	for _, v := range s.sorted() {
		sum += (float64(v) - mean) * (float64(v) - mean) * float64(s.counts[v])
	}
	return math.Sqrt(sum / float64(s.count-1))
}

// Within returns the percentage of the values that are within one standard deviation of the mean; NaN if there are no
// values.
func (s *Stats) Within() float64 {
	mean, stdev := s.Mean(), s.Stdev()
	var n uint64
	for v, c := range s.counts {
		if float64(v) >= mean-stdev && float64(v) <= mean+stdev {
			n += c
		}
	}
	return float64(n) / float64(s.count) * 100
}

// Percentile returns the value at a percentile: that of rank p% of the count plus one half, rounded.
func (s *Stats) Percentile(p float64) int64 {
	rank := uint64(math.Round(p/100*float64(s.count) + 0.5))
	var total uint64
	for _, v := range s.sorted() {
		if total += s.counts[v]; total >= rank {
			return v
		}
	}
	return 0
}

// At returns distinct value number i, from 0 in ascending order, and its count; zeros beyond the last.
func (s *Stats) At(i int) (value int64, count uint64) {
	if all := s.sorted(); i >= 0 && i < len(all) {
		return all[i], s.counts[all[i]]
	}
	return 0, 0
}

// Distinct returns how many distinct values there are.
func (s *Stats) Distinct() int { return len(s.counts) }
