package record

import (
	"fmt"
	"math"

	"brunt/internal/measure"
)

// LatencyOf returns h, which may be nil, as it stands in run.json. With hdr the whole
// distribution goes with it.
func LatencyOf(h *measure.Histogram, hdr bool) Latency {
	if h == nil || h.Count() == 0 {
		return Latency{}
	}
	l := Latency{
		Count: h.Count(), MinNs: h.Min(), MeanNs: h.Mean(), MaxNs: h.Max(),
		P50Ns: h.Quantile(0.5), P75Ns: h.Quantile(0.75), P90Ns: h.Quantile(0.9),
		P95Ns: h.Quantile(0.95), P99Ns: h.Quantile(0.99), P999Ns: h.Quantile(0.999),
		P9999Ns: h.Quantile(0.9999),
	}
	if hdr {
		l.HDR = h.EncodeHDR()
	}
	return l
}

// Histogram returns the whole distribution that l carries, exact extremes and mean included, or
// an error if it carries none that can be read. An empty Latency gives an empty histogram.
func (l *Latency) Histogram() (*measure.Histogram, error) {
	return decodeHistogram(l.HDR, l.Count, l.MinNs, l.MaxNs, l.MeanNs)
}

// maxNs is the longest time that a record may hold: ten years.
const maxNs = int64(10 * 365 * 24 * 3600 * 1e9)

func decodeHistogram(hdr string, count uint64, minNs, maxValueNs int64, meanNs float64) (*measure.Histogram, error) {
	if hdr == "" {
		if count != 0 {
			return nil, fmt.Errorf("a histogram of %d values is missing", count)
		}
		return measure.NewHistogram(), nil
	}
	h, err := measure.DecodeHDR(hdr)
	if err != nil {
		return nil, err
	}
	if h.Count() != count {
		return nil, fmt.Errorf("histogram holds %d values instead of %d", h.Count(), count)
	}
	if minNs < 0 || maxValueNs < minNs || maxValueNs > maxNs || math.IsNaN(meanNs) || meanNs < 0 || meanNs > float64(maxNs) {
		return nil, fmt.Errorf("histogram's extremes %d to %d ns, mean %g ns, make no sense", minNs, maxValueNs, meanNs)
	}
	h.Restore(minNs, maxValueNs, meanNs)
	return h, nil
}

func countOf(h *measure.Histogram) uint64 {
	if h == nil {
		return 0
	}
	return h.Count()
}

// sumNs is the sum of all values.
func sumNs(h *measure.Histogram) float64 {
	if h == nil {
		return 0
	}
	return h.Mean() * float64(h.Count())
}

// mergeInto adds from to *to, making *to if there is something to add.
func mergeInto(to **measure.Histogram, from *measure.Histogram) {
	if countOf(from) == 0 {
		return
	}
	if *to == nil {
		*to = measure.NewHistogram()
	}
	(*to).Merge(from)
}
