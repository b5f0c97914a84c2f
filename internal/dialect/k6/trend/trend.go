// Package trend keeps k6's Trend metrics in a fixed amount of memory. k6 keeps every value of a Trend for its
// thresholds and its summary. This package counts the values in buckets, and gives k6 a list of limited length with the
// same quantiles, mean, minimum and maximum.
package trend

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/dialect/k6/private"
)

// Points is how many values of a Trend k6 keeps. Up to that number they are the values themselves, and k6's results are
// exact; beyond it they are that many quantiles.
const Points = 10_001

// Supported reports whether Trends of this version of k6 can be kept in a fixed amount of memory.
func Supported() bool {
	return set(metrics.NewTrendSink(), nil, 0, 0, 0) && reflect.TypeFor[metrics.TrendSink]().NumField() == 6
}

// set replaces the values of a sink by values, which must be in ascending order. It also sets the sum, which k6's
// methods can't do: the mean of the quantiles differs from that of all values, which a single outlier may double.
func set(sink *metrics.TrendSink, values []float64, least, most, sum float64) bool {
	return private.Set(sink, "values", values) && private.Set(sink, "sorted", true) &&
		private.Set(sink, "count", uint64(len(values))) && private.Set(sink, "min", least) &&
		private.Set(sink, "max", most) && private.Set(sink, "sum", sum)
}

// Distribution is the input of Fill: values in ascending buckets.
type Distribution struct {
	N             uint64
	Min, Max, Sum float64
	Each          func(f func(lo, hi float64, n uint64)) // ascending
}

// Fill replaces the values of a sink by the quantiles of d. k6 must not use the sink at the same time. Fill does
// nothing if d is empty, or if Trends aren't Supported.
func Fill(sink *metrics.TrendSink, d Distribution) {
	if d.N == 0 || !Supported() {
		return
	}
	n := min(d.N, Points)
	values := make([]float64, 0, n)
	step := 0.0
	if n > 1 {
		step = float64(d.N-1) / float64(n-1)
	}
	before := 0.0
	d.Each(func(lo, hi float64, in uint64) {
		// The value of rank r, counted from 0, is interpolated linearly within its bucket.
		for uint64(len(values)) < n {
			r := float64(len(values)) * step
			if r >= before+float64(in) {
				break
			}
			v := lo + (hi-lo)*(r-before)/float64(in)
			values = append(values, min(max(v, d.Min), d.Max))
		}
		before += float64(in)
	})
	for uint64(len(values)) < n {
		values = append(values, d.Max)
	}
	values[0], values[n-1] = d.Min, d.Max
	set(sink, values, d.Min, d.Max, d.Sum/float64(d.N)*float64(n))
}

// mantissaBits is the resolution of buckets: values in the same bucket differ by less than 0.1 %.
const mantissaBits = 10

// sketch counts numbers of any size and sign in logarithmic buckets: by sign, exponent, and the first bits of the
// mantissa. Minimum, maximum, number and sum are exact.
type sketch struct {
	buckets  map[int32]uint64 // by order
	sorted   []int32          // sorted keys of buckets; outdated if shorter
	n        uint64
	sum      float64
	min, max float64
}

// order returns the number of v's bucket. Greater values have greater numbers.
func order(v float64) int32 {
	b := int32(math.Float64bits(math.Abs(v)) >> (52 - mantissaBits))
	if v < 0 {
		return -b - 1
	}
	return b
}

// edges returns the smallest and the greatest value of a bucket.
func edges(order int32) (lo, hi float64) {
	if order < 0 {
		lo, hi = edges(-order - 1)
		return -hi, -lo
	}
	return math.Float64frombits(uint64(order) << (52 - mantissaBits)),
		math.Float64frombits(uint64(order+1)<<(52-mantissaBits) - 1)
}

func (s *sketch) add(v float64) {
	if s.buckets == nil {
		s.buckets = map[int32]uint64{}
	}
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.sum += v
	s.buckets[order(v)]++
}

// each calls f for each bucket in ascending order.
func (s *sketch) each(f func(lo, hi float64, n uint64)) {
	if len(s.sorted) != len(s.buckets) {
		s.sorted = slices.Sorted(maps.Keys(s.buckets))
	}
	for _, k := range s.sorted {
		lo, hi := edges(k)
		f(lo, hi, s.buckets[k])
	}
}

// Keeper counts the values of all Trends, and withholds them from k6's own sinks once there are more than Points.
type Keeper struct {
	mu     sync.Mutex
	trends map[*metrics.Metric]*kept
}

// kept is a Trend, or the part of its values with certain tags.
type kept struct {
	metric *metrics.Metric
	tags   *metrics.TagSet // nil for all values
	sketch sketch
	filled uint64 // number of values when its sink was last filled
	parts  []*kept
}

// NewKeeper returns a keeper without Trends.
func NewKeeper() *Keeper { return &Keeper{trends: map[*metrics.Metric]*kept{}} }

// Keep counts a sample of a Trend, and reports whether k6 must also receive it.
func (k *Keeper) Keep(s *metrics.Sample) (needed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.trends[s.Metric]
	if t == nil {
		t = &kept{metric: s.Metric}
		for _, sub := range s.Metric.Submetrics {
			t.parts = append(t.parts, &kept{metric: sub.Metric, tags: sub.Tags})
		}
		k.trends[s.Metric] = t
	}
	t.sketch.add(s.Value)
	needed = !t.full()
	for _, p := range t.parts {
		if s.Tags.Contains(p.tags) {
			p.sketch.add(s.Value)
			// k6 only shows submetrics that it has received a value of.
			needed = needed || p.sketch.n == 1
		}
	}
	return needed
}

// full reports whether k6's sink no longer receives the values.
func (t *kept) full() bool { return t.sketch.n > Points }

// Fill updates k6's sinks: those with thresholds, or all of them. It must be called from k6's ingestion of samples, or
// after that has ended.
func (k *Keeper) Fill(all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.trends {
		if !t.full() {
			continue
		}
		t.fill(all)
		for _, p := range t.parts {
			p.fill(all)
		}
	}
}

func (t *kept) fill(all bool) {
	sink, ok := t.metric.Sink.(*metrics.TrendSink)
	if !ok || !all && len(t.metric.Thresholds.Thresholds) == 0 {
		return
	}
	// k6 may have added a value late that it had received before, so the sink's length is compared, too.
	if t.sketch.n == t.filled && sink.Count() == min(t.sketch.n, Points) {
		return
	}
	t.filled = t.sketch.n
	Fill(sink, Distribution{N: t.sketch.n, Min: t.sketch.min, Max: t.sketch.max, Sum: t.sketch.sum, Each: t.sketch.each})
}
