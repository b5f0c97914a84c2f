// Package output prints results in the formats of go-ycsb and YCSB, from the engine's intervals.
package output

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"brunt/internal/measure"
)

// Total is the name of the sum of all successful operations. It counts the parts of a READ_MODIFY_WRITE, not the whole.
const Total = "TOTAL"

// highestUs is the longest time that is recorded exactly, in microseconds: 24 h.
const highestUs = 24 * 60 * 60 * 1000 * 1000

// Results are the latencies of a load by operation, in microseconds with three significant digits
// (HdrHistogram). They are safe for concurrent use.
type Results struct {
	mu        sync.Mutex
	byName    map[string]*hdr.Histogram
	elapsedNs int64
}

// NewResults returns empty results.
func NewResults() *Results { return &Results{byName: map[string]*hdr.Histogram{}} }

func (r *Results) histogram(name string) *hdr.Histogram {
	h := r.byName[name]
	if h == nil {
		h = hdr.New(1, highestUs, 3)
		r.byName[name] = h
	}
	return h
}

// Merge adds latencies in nanoseconds to an operation and, if total isn't empty, to the sum with that name. latencies
// may be nil.
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

// Elapsed sets how long the load has lasted so far.
func (r *Results) Elapsed(ns int64) {
	r.mu.Lock()
	r.elapsedNs = ns
	r.mu.Unlock()
}

// names returns the names of the operations that have latencies, sorted.
func (r *Results) names() []string {
	return slices.Sorted(maps.Keys(r.byName))
}

// Open creates a file for writing.
type Open func(name string) (io.WriteCloser, error)

// Percentiles writes a file for each operation, <prefix><operation>-percentiles.txt, with the whole distribution in
// HdrHistogram's percentile format. It prints the names of the files to w.
func (r *Results) Percentiles(w io.Writer, prefix string, open Open) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.names() {
		path := fmt.Sprintf("%s%s-percentiles.txt", prefix, name)
		fmt.Fprintf(w, "Exporting the full latency spectrum for operation '%s' in percentile output format into file: %s.\n",
			name, path)
		f, err := open(path)
		if err != nil {
			return fmt.Errorf("percentiles: %w; check histogram.percentiles.export.filepath", err)
		}
		_, err = r.byName[name].PercentilesPrint(f, 1, 1.0)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return fmt.Errorf("percentiles: %s: %w", path, err)
		}
	}
	return nil
}

// WriteYCSB writes the results in a format of YCSB's exporters: text ("[READ], Operations, 491") or json (an object for
// each value).
func (r *Results) WriteYCSB(w io.Writer, format string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	say := func(metric, measurement string, value any) {
		if err != nil {
			return
		}
		if format == "json" {
			_, err = fmt.Fprintf(w, "{\"metric\":%q,\"measurement\":%q,\"value\":%v}\n", metric, measurement, value)
			return
		}
		_, err = fmt.Fprintf(w, "[%s], %s, %v\n", metric, measurement, value)
	}
	done := int64(0)
	if h := r.byName[Total]; h != nil {
		done = h.TotalCount()
	}
	say("OVERALL", "RunTime(ms)", r.elapsedNs/1_000_000)
	if r.elapsedNs > 0 {
		say("OVERALL", "Throughput(ops/sec)", float64(done)/(float64(r.elapsedNs)/1e9))
	}
	for _, name := range r.names() {
		if name == Total {
			continue
		}
		h := r.byName[name]
		metric, failed := strings.CutSuffix(name, "_ERROR")
		if failed {
			metric += "-FAILED"
		}
		metric = strings.ReplaceAll(metric, "_", "-")
		say(metric, "Operations", h.TotalCount())
		say(metric, "AverageLatency(us)", h.Mean())
		say(metric, "MinLatency(us)", h.Min())
		say(metric, "MaxLatency(us)", h.Max())
		say(metric, "95thPercentileLatency(us)", h.ValueAtPercentile(95))
		say(metric, "99thPercentileLatency(us)", h.ValueAtPercentile(99))
		if failed {
			say(metric, "Return=ERROR", h.TotalCount())
		} else {
			say(metric, "Return=OK", h.TotalCount())
		}
	}
	return err
}
