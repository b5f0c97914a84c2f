package wrk

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/measure"
)

// report2 returns wrk2's report. The latencies of the thread statistics and of the first histogram begin when a request
// was meant to be sent, those of the second when it was.
func (e *execution) report2(r *Outcome) string {
	var b strings.Builder
	response := merged(e.response, e.failedR)
	latency := NewStats()
	latency.AddNs(response)
	fmt.Fprintf(&b, "  Thread Stats%6s%11s%8s%12s\n", "Avg", "Stdev", "Max", "+/- Stdev")
	line(&b, "Latency", latency, formatUs)
	line(&b, "Req/Sec", r.Requests, formatMetric)
	if e.o.Latency {
		histogram(&b, response, "Recorded Latency")
	}
	if e.o.Uncorrected {
		b.WriteString("\n")
		histogram(&b, merged(e.service, e.failed),
			"Uncorrected Latency (measured without taking delayed starts into account)")
	}
	r.Latency = latency
	e.o.totals(&b, r)
	return b.String()
}

func merged(all ...*measure.Histogram) *measure.Histogram {
	h := measure.NewHistogram()
	for _, o := range all {
		h.Merge(o)
	}
	return h
}

// histogram writes a distribution: some percentiles, and all in HdrHistogram's text format ("classic"), whose values
// are milliseconds, with five steps for each half of the distance to 100 %.
func histogram(b *strings.Builder, ns *measure.Histogram, what string) {
	h := measure.NewHistogram() // µs
	ns.Each(func(lo, hi int64, n uint64) bool {
		h.RecordN(min(max(lo+(hi-lo)/2, ns.Min()), ns.Max())/1000, n)
		return true
	})
	fmt.Fprintf(b, "  Latency Distribution (HdrHistogram - %s)\n", what)
	for _, p := range []float64{50, 75, 90, 99, 99.9, 99.99, 99.999, 100} {
		fmt.Fprintf(b, "%7.3f%%%s\n", p, padded(formatUs(float64(h.Quantile(p/100))), 10))
	}
	fmt.Fprintf(b, "\n  Detailed Percentile spectrum:\n")
	spectrum(b, h)
	b.WriteString("----------------------------------------------------------\n")
}

// spectrum writes HdrHistogram's percentile distribution (hdr_percentiles_print with 5 ticks, divided by 1000).
func spectrum(b *strings.Builder, h *measure.Histogram) {
	const ticks = 5
	fmt.Fprintf(b, "%10s %12s %12s %12s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	total := h.Count()
	var sum, sumSquares float64
	var cumulative uint64
	next, over := 0.0, false
	h.Each(func(lo, hi int64, n uint64) bool {
		middle := float64(lo) + math.Floor(float64(hi-lo+1)/2)
		sum += middle * float64(n)
		sumSquares += middle * middle * float64(n)
		cumulative += n
		for at := 100 * float64(cumulative) / float64(total); !over && next <= at; {
			fmt.Fprintf(b, "%10.3f %12.6f %12d", float64(hi)/1000, next/100, cumulative)
			if next >= 100 {
				fmt.Fprintf(b, " %12s\n", "inf")
				over = true
				break
			}
			fmt.Fprintf(b, " %12.2f\n", 1/(1-next/100))
			if cumulative == total {
				next = 100
				continue
			}
			half := math.Pow(2, math.Trunc(math.Log2(100/(100-next)))+1)
			next += 100 / (ticks * half)
		}
		return true
	})
	mean, stdev := 0.0, 0.0
	if total > 0 {
		mean = sum / float64(total)
		stdev = math.Sqrt(max(sumSquares/float64(total)-mean*mean, 0))
	}
	// The layout of the last lines is that of HdrHistogram.
	fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean/1000, stdev/1000)
	fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/1000, total)
	fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", 27, 2048)
}
