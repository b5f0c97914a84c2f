package hints

import (
	"math"
	"slices"
)

const seriesLength = baselineLength + guardLength + recentLength

// series is the last values of a metric: a baseline, a guard, and the most recent ones.
type series struct {
	values [seriesLength]float64
	starts [seriesLength]int64 // of their intervals, ns
	n      int                 // of values in use
	total  int                 // since the baseline last began again
	first  bool                // it has not begun again since the load's start
}

// change is a flagged difference of medians.
type change struct {
	from, to float64
	startUp  bool
	beganNs  int64 // start of the first interval at the new level
}

// rule says how large a difference matters.
type rule interface {
	// differs reports whether the medians differ by enough to matter.
	differs(from, to float64) bool
	// floor is the least standard deviation that is believed.
	floor(from float64) float64
}

// logRule is of logarithms of positive numbers.
type logRule struct{}

func (logRule) differs(from, to float64) bool { return math.Abs(to-from) > math.Log(ratioLimit) }

func (logRule) floor(float64) float64 { return 0.01 }

// shareRule is of shares of n.
type shareRule struct{ n uint64 }

func (shareRule) differs(from, to float64) bool {
	return math.Abs(to-from) > max(errorsLimit, from*(ratioLimit-1))
}

// floor is the binomial standard deviation of a share, counted as if one more had failed.
func (r shareRule) floor(from float64) float64 {
	n := float64(r.n)
	p := min((from*n+1)/(n+1), 1)
	return math.Sqrt(p * (1 - p) / n)
}

// add appends the value of an interval that began at startNs and reports a change that it brings to
// light. Then the baseline begins again with the recent values.
func (s *series) add(v float64, startNs int64, r rule) (change, bool) {
	if s.n == len(s.values) {
		copy(s.values[:], s.values[1:])
		copy(s.starts[:], s.starts[1:])
		s.n--
	}
	s.values[s.n], s.starts[s.n] = v, startNs
	s.n++
	s.total++
	baseline := s.n - guardLength - recentLength
	startUp := s.first && s.total <= startUpEnd+guardLength+recentLength
	if baseline < baselineLeast && !(startUp && baseline >= recentLength) {
		return change{}, false
	}
	var work [baselineLength]float64
	before, recent := s.values[:baseline], s.values[s.n-recentLength:s.n]
	from := median(append(work[:0], before...))
	to := median(append(work[:0], recent...))
	deviation := work[:baseline]
	for i, v := range before {
		deviation[i] = math.Abs(v - from)
	}
	sigma := max(1.4826*median(deviation), r.floor(from))
	if math.Abs(to-from) <= limit(baseline)*sigma || !r.differs(from, to) {
		return change{}, false
	}
	onset := s.onset(from, to)
	found := change{from: from, to: to, startUp: startUp && onset < startUpEnd, beganNs: s.starts[onset]}
	copy(s.values[:], recent)
	copy(s.starts[:], s.starts[s.n-recentLength:s.n])
	s.n, s.total, s.first = recentLength, recentLength, false
	return found, true
}

// onset is the index of the first value at the new level: cut there, the values before it and those from it
// on have the least sum of distances from the medians before and after.
func (s *series) onset(from, to float64) int {
	best, cost, least := s.n-1, 0.0, 0.0
	for i := s.n - 1; i >= 0; i-- {
		cost += math.Abs(s.values[i]-to) - math.Abs(s.values[i]-from)
		if cost < least {
			best, least = i, cost
		}
	}
	return best
}

// limit is the number of robust standard deviations needed: zLimit over a full baseline, more
// over a short one, whose deviation is less sure.
func limit(baseline int) float64 {
	return zLimit * (1 + 1.5*float64(baselineLength-baseline)/baselineLength)
}

// median sorts v and returns the middle of it.
func median(v []float64) float64 {
	slices.Sort(v)
	m := len(v) / 2
	if len(v)%2 == 1 {
		return v[m]
	}
	return (v[m-1] + v[m]) / 2
}
