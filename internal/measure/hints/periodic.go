package hints

import (
	"math"
	"slices"

	"brunt/internal/measure"
)

const (
	episodesLeast = 5    // episodes that recur before their period is reported
	periodLeast   = 3    // intervals between the starts of two episodes
	periodSpread  = 0.1  // largest deviation of a gap from their mean, as a share; at least one interval is allowed
	stalledTimes  = 3    // times the usual longest response time
	stalledNs     = 50e6 // ns; shorter response times are no standstill
	usualLength   = 30   // intervals
	usualLeast    = 5    // intervals that are needed to know what is usual
)

// stalls finds standstills that recur at equal distances: episodes of intervals whose longest response time is far above
// the usual one. Random episodes come at irregular distances: five of them within a tenth of a period of each other are
// rarer than one in ten thousand.
type stalls struct {
	usual    []float64 // longest response times of the last intervals outside of episodes, ns
	episodes []int64   // starts of the last episodes, ns
	sizes    []float64 // their longest response times, ns
	within   bool
	told     bool
}

// add processes the longest response time of an interval. It returns the period of the episodes and their typical size,
// ns, when they are known to recur.
func (s *stalls) add(longestNs float64, startNs, lengthNs int64) (periodNs, sizeNs float64, found bool) {
	if longestNs == 0 {
		return 0, 0, false // nothing was answered
	}
	limit := math.Inf(1)
	if len(s.usual) >= usualLeast {
		limit = max(stalledTimes*median(slices.Clone(s.usual)), stalledNs)
	}
	if longestNs <= limit {
		s.within = false
		if s.usual = append(s.usual, longestNs); len(s.usual) > usualLength {
			s.usual = s.usual[1:]
		}
		return 0, 0, false
	}
	if s.within {
		s.sizes[len(s.sizes)-1] = max(s.sizes[len(s.sizes)-1], longestNs)
		return 0, 0, false
	}
	s.within = true
	if s.episodes, s.sizes = append(s.episodes, startNs), append(s.sizes, longestNs); len(s.episodes) > episodesLeast {
		s.episodes, s.sizes = s.episodes[1:], s.sizes[1:]
	}
	if s.told || len(s.episodes) < episodesLeast {
		return 0, 0, false
	}
	periodNs = float64(s.episodes[episodesLeast-1]-s.episodes[0]) / (episodesLeast - 1)
	for i := 1; i < episodesLeast; i++ {
		off := math.Abs(float64(s.episodes[i]-s.episodes[i-1]) - periodNs)
		if periodNs < periodLeast*float64(lengthNs) || off > max(periodSpread*periodNs, float64(lengthNs)) {
			return 0, 0, false
		}
	}
	s.told = true
	return periodNs, median(slices.Clone(s.sizes)), true
}

// recurring adds a hint when standstills recur.
func (c *Detector) recurring(iv *measure.Interval, length int64) {
	periodNs, sizeNs, found := c.stalls.add(float64(c.merged.Quantile(1)), iv.StartNs, length)
	if found {
		c.hint(Hint{Metric: P99, Operation: AllOperations, Kind: Periodic, BeganNs: c.stalls.episodes[0], From: periodNs,
			To: sizeNs, Ratio: math.Inf(1)}, iv)
	}
}
