// Package output prints results as go-ycsb and YCSB do, from the engine's intervals.
package output

import (
	"slices"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"brunt/internal/measure"
)

// Total is the name of the sum of all operations that succeeded, the parts of a
// READ_MODIFY_WRITE counted instead of the whole.
const Total = "TOTAL"

// highestUs is the longest time that results tell apart: 24 h.
const highestUs = 24 * 60 * 60 * 1000 * 1000

// Results are the latencies of a load by operation, in microseconds with three significant digits
// (HdrHistogram). They are safe for concurrent use.
type Results struct {
	mu        sync.Mutex
	byName    map[string]*hdr.Histogram
	elapsedNs int64
}

// NewResults returns the results of nothing yet.
func NewResults() *Results { return &Results{byName: map[string]*hdr.Histogram{}} }

func (r *Results) histogram(name string) *hdr.Histogram {
	h := r.byName[name]
	if h == nil {
		h = hdr.New(1, highestUs, 3)
		r.byName[name] = h
	}
	return h
}

// Merge adds latencies in nanoseconds, which may be nil, to an operation's and, if total is not
// empty, to that sum.
func (r *Results) Merge(name, total string, latencies *measure.Histogram) {
	if latencies == nil || latencies.Count() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.histogram(name)
	var sum *hdr.Histogram
	if total != "" {
		sum = r.histogram(total)
	}
	least, most := latencies.Min(), latencies.Max()
	latencies.Each(func(lo, hi int64, n uint64) bool {
		us := min(max(lo+(hi-lo)/2, least), most) / 1000
		// Values are clamped to the histogram's range, so that recording can't fail.
		us = min(us, highestUs)
		_ = h.RecordValues(us, int64(n))
		if sum != nil {
			_ = sum.RecordValues(us, int64(n))
		}
		return true
	})
}

// Elapsed tells how long the load has lasted.
func (r *Results) Elapsed(ns int64) {
	r.mu.Lock()
	r.elapsedNs = ns
	r.mu.Unlock()
}

// Count is how many latencies an operation has.
func (r *Results) Count(name string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byName[name]; h != nil {
		return h.TotalCount()
	}
	return 0
}

// Names are the operations that have latencies, sorted.
func (r *Results) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names()
}

func (r *Results) names() []string {
	var names []string
	for n := range r.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
