// Package trend keeps k6's Trend metrics in fixed memory. k6 keeps every value of them, for its
// thresholds and its summary. Here the values are counted in buckets, and what k6 reads is a list of a
// fixed length with the same quantiles, mean, minimum and maximum.
package trend

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"go.k6.io/k6/v2/metrics"
)

// Points is how many values of a Trend k6 keeps: as long as there are no more they are the values
// themselves, and k6's figures are exact; then they are that many quantiles.
const Points = 10_001

// fields are those of a metrics.TrendSink, which k6 doesn't export.
type fields struct {
	values        *[]float64
	sorted        *bool
	count         *uint64
	min, max, sum *float64
}

// fieldsOf finds the fields of a sink. ok is false if k6 has changed them.
func fieldsOf(sink *metrics.TrendSink) (f fields, ok bool) {
	v := reflect.ValueOf(sink).Elem()
	find := func(name string, kind reflect.Type) unsafe.Pointer {
		field := v.FieldByName(name)
		if !field.IsValid() || field.Type() != kind {
			return nil
		}
		return unsafe.Pointer(field.UnsafeAddr())
	}
	float := reflect.TypeFor[float64]()
	f = fields{
		values: (*[]float64)(find("values", reflect.TypeFor[[]float64]())),
		sorted: (*bool)(find("sorted", reflect.TypeFor[bool]())),
		count:  (*uint64)(find("count", reflect.TypeFor[uint64]())),
		min:    (*float64)(find("min", float)), max: (*float64)(find("max", float)), sum: (*float64)(find("sum", float)),
	}
	ok = f.values != nil && f.sorted != nil && f.count != nil && f.min != nil && f.max != nil && f.sum != nil &&
		v.NumField() == 6
	return f, ok
}

// Supported reports whether this k6's Trends can be kept in fixed memory.
func Supported() bool {
	_, ok := fieldsOf(metrics.NewTrendSink())
	return ok
}

// Distribution is what Fill takes from: values in ascending order, in buckets.
type Distribution struct {
	N             uint64
	Min, Max, Sum float64
	Each          func(f func(lo, hi float64, n uint64)) // ascending
}

// Fill makes a sink hold the quantiles of d instead of what it holds. k6 must not use the sink in the meantime.
// It does nothing if d is empty.
func Fill(sink *metrics.TrendSink, d Distribution) {
	f, ok := fieldsOf(sink)
	if !ok || d.N == 0 {
		return
	}
	n := uint64(Points)
	if d.N < n {
		n = d.N
	}
	values := (*f.values)[:0]
	step := 0.0
	if n > 1 {
		step = float64(d.N-1) / float64(n-1)
	}
	before := 0.0
	d.Each(func(lo, hi float64, in uint64) {
		// The value of rank r, from 0, lies in the bucket as far as its rank does.
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
	*f.values, *f.sorted, *f.count = values, true, n
	*f.min, *f.max, *f.sum = d.Min, d.Max, d.Sum/float64(d.N)*float64(n)
}

// mantissaBits is how finely each power of two is cut: values of a bucket differ by less than 0.1 %.
const mantissaBits = 10

// sketch counts numbers of any size and sign in logarithmic buckets: by their sign, exponent, and the
// first bits of their mantissa. The smallest, the greatest, the number and the sum are exact.
type sketch struct {
	buckets  map[int32]uint64 // by order
	sorted   []int32          // the keys of buckets, as far as known
	n        uint64
	sum      float64
	min, max float64
}

// order numbers the bucket of v, so that greater values have greater numbers.
func order(v float64) int32 {
	b := int32(math.Float64bits(math.Abs(v)) >> (52 - mantissaBits))
	if v < 0 {
		return -b - 1
	}
	return b
}

// edges are the least and the greatest value of a bucket.
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

// each calls f with each bucket in ascending order.
func (s *sketch) each(f func(lo, hi float64, n uint64)) {
	if len(s.sorted) != len(s.buckets) {
		s.sorted = slices.Sorted(maps.Keys(s.buckets))
	}
	for _, k := range s.sorted {
		lo, hi := edges(k)
		f(lo, hi, s.buckets[k])
	}
}

// Keeper counts the values of all Trends, and keeps them from k6's own sinks once there are many.
type Keeper struct {
	mu     sync.Mutex
	trends map[*metrics.Metric]*kept
}

// kept is a Trend and those of its values that have certain tags.
type kept struct {
	metric *metrics.Metric
	tags   *metrics.TagSet // nil for all values
	sketch sketch
	filled uint64 // values that its sink was last filled from
	parts  []*kept
}

// NewKeeper returns a keeper of no Trends yet.
func NewKeeper() *Keeper { return &Keeper{trends: map[*metrics.Metric]*kept{}} }

// Keep counts a sample of a Trend, and reports whether k6 needs it itself.
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
			// k6 shows what it has seen once.
			needed = needed || p.sketch.n == 1
		}
	}
	return needed
}

// full reports whether k6's sink no longer gets the values.
func (t *kept) full() bool { return t.sketch.n > Points }

// Fill brings k6's sinks up to date: those with thresholds, or all. It must be called where k6's own
// ingestion of samples is, or is over.
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
	// k6 may have been on its way to add a value that it was left.
	if t.sketch.n == t.filled && sink.Count() == min(t.sketch.n, Points) {
		return
	}
	t.filled = t.sketch.n
	Fill(sink, Distribution{N: t.sketch.n, Min: t.sketch.min, Max: t.sketch.max, Sum: t.sketch.sum, Each: t.sketch.each})
}
