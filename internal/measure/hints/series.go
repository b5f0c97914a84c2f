package hints

import (
	"math"
	"slices"
)

const seriesLength = baselineLength + guardLength + recentLength

// series holds the last values of a metric: the baseline, the guard intervals and the most recent values.
type series struct {
	values [seriesLength]float64
	starts [seriesLength]int64 // starts of the values' intervals, ns
	n      int                 // number of values in use
	total  int                 // number of values since the baseline last started again
	first  bool                // whether the baseline hasn't started again since the load's start
}

// change is a flagged difference of medians.
type change struct {
	from, to float64
	startUp  bool
	beganNs  int64 // start of the first interval at the new level
}

// rule decides whether a difference matters.
type rule interface {
	// differs reports whether the difference between two medians is large enough.
	differs(from, to float64) bool
	// floor returns a lower bound for the standard deviation, given the baseline's median.
	floor(from float64) float64
	// clearer returns the factor by which the limit grows.
	clearer() float64
}

// logRule is the rule for logarithms of positive numbers. counted is how many events a value is derived from, for rates;
// 0 for other figures.
type logRule struct{ counted, more float64 }

func (logRule) differs(from, to float64) bool { return math.Abs(to-from) > math.Log(ratioLimit) }

// floor returns the standard deviation of the logarithm of a Poisson number, for rates.
func (r logRule) floor(float64) float64 {
	if r.counted > 0 {
		return max(0.01, 1/math.Sqrt(r.counted))
	}
	return 0.01
}

func (r logRule) clearer() float64 { return max(r.more, 1) }

// shareRule is the rule for shares of n operations.
type shareRule struct {
	n    uint64
	more float64
}

func (r shareRule) clearer() float64 { return max(r.more, 1) }

func (shareRule) differs(from, to float64) bool {
	return math.Abs(to-from) > max(errorsLimit, from*(ratioLimit-1))
}

// floor returns the binomial standard deviation of a share, as if one more operation had failed.
func (r shareRule) floor(from float64) float64 {
	n := float64(r.n)
	p := min((from*n+1)/(n+1), 1)
	return math.Sqrt(p * (1 - p) / n)
}

// add appends the value of an interval that started at startNs. It returns the change that this value reveals, if
// there is one; the baseline then starts again with the recent values.
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
	if math.Abs(to-from) <= limit(baseline)*r.clearer()*sigma || !r.differs(from, to) {
		return change{}, false
	}
	onset := s.onset(from, to)
	found := change{from: from, to: to, startUp: startUp && onset < startUpEnd, beganNs: s.starts[onset]}
	copy(s.values[:], recent)
	copy(s.starts[:], s.starts[s.n-recentLength:s.n])
	s.n, s.total, s.first = recentLength, recentLength, false
	return found, true
}

// onset returns the index of the first value at the new level. It is the split for which the sum of the distances
// is least: of the values before it from the old median, and of the others from the new median.
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

// limit returns the number of robust standard deviations that a change must exceed: zLimit for a full baseline, and
// more for a short one, whose deviation is less certain.
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
