package sysbench

import (
	"fmt"
	"io"
	"math"
	"strings"

	"brunt/internal/measure"
)

// sysbench's histogram has 1024 buckets from 0.001 ms to 100 s, whose limits have logarithms at equal distances.
const (
	buckets = 1024
	leastMs = 1e-3
	mostMs  = 1e5
)

// histogram counts latencies as sysbench does.
type histogram struct {
	counts [buckets]uint64
	total  uint64
}

var (
	bucketBase  = math.Log(leastMs)
	bucketScale = (buckets - 1) / (math.Log(mostMs) - bucketBase)
)

// bucketOf returns the bucket of a latency.
func bucketOf(ms float64) int {
	return int(min(max(math.Floor((math.Log(ms)-bucketBase)*bucketScale+0.5), 0), buckets-1))
}

// bucketMs returns the latency that stands for a bucket.
func bucketMs(i int) float64 { return math.Exp(float64(i)/bucketScale + bucketBase) }

// add counts n events with a latency.
func (h *histogram) add(ns float64, n uint64) {
	h.counts[bucketOf(ns/1e6)] += n
	h.total += n
}

// merge adds the values of a record's histogram, whose buckets are a tenth as wide at most.
func (h *histogram) merge(m *measure.Histogram) {
	if m == nil {
		return
	}
	m.Each(func(lo, hi int64, n uint64) bool {
		h.add(float64(lo)/2+float64(hi)/2, n)
		return true
	})
}

// percentile returns the value of a percentile, in ms; the least value if there are none.
func (h *histogram) percentile(p int) float64 {
	rank := uint64(math.Floor(float64(h.total)*float64(p)/100 + 0.5))
	sum := uint64(0)
	for i, n := range h.counts {
		if sum += n; sum >= rank {
			return bucketMs(i)
		}
	}
	return bucketMs(buckets)
}

// write writes the buckets with values.
func (h *histogram) write(w io.Writer) {
	most := uint64(0)
	for _, n := range h.counts {
		most = max(most, n)
	}
	if most == 0 {
		return
	}
	fmt.Fprintln(w, "       value  ------------- distribution ------------- count")
	for i, n := range h.counts {
		if n > 0 {
			stars := int(math.Floor(float64(n)*40/float64(most) + 0.5))
			fmt.Fprintf(w, "%12.3f |%-40s %d\n", bucketMs(i), strings.Repeat("*", stars), n)
		}
	}
}
