package slowcooker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"

	"brunt/internal/measure"
)

// quantiles is the final summary of release 1.1 and later.
type quantiles struct {
	P50  int64 `json:"p50"`
	P75  int64 `json:"p75"`
	P90  int64 `json:"p90"`
	P95  int64 `json:"p95"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
}

// WriteSummary writes the latencies of the whole run in the format of o.Summary. It writes nothing for "report" and
// "none". p999 is the 99.9th percentile, or the maximum if o.Compat is set.
func WriteSummary(w io.Writer, o *Options, h *measure.Histogram) error {
	switch o.Summary {
	case "1.0":
		return writeTable(w, o, h)
	case "1.2":
		unit := func(q float64) int64 { return h.Quantile(q) / int64(o.Unit) }
		s := quantiles{unit(0.5), unit(0.75), unit(0.9), unit(0.95), unit(0.99), unit(0.999)}
		if o.Compat {
			s.P999 = unit(1)
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", text)
		return err
	}
	return nil
}

// writeTable writes the table of release 1.0: how many latencies are at least FROM and below TO. Latencies above the
// last edge have a row of their own, unless o.Compat is set.
func writeTable(w io.Writer, o *Options, h *measure.Histogram) error {
	edges := []int64{0, 2, 8, 32, 64, 128, 256, 512, 1024, 4096, 16384}
	counts := make([]uint64, len(edges))
	for _, b := range bars(h, int64(o.Unit)) {
		i := len(edges) - 1
		for b.from < edges[i] {
			i--
		}
		counts[i] += b.count
	}
	out := bufio.NewWriter(w)
	// bufio returns the first error from Flush.
	_, _ = fmt.Fprintln(out, "FROM    TO #REQUESTS")
	for i := range len(edges) - 1 {
		_, _ = fmt.Fprintf(out, "%4d %5d %d\n", edges[i], edges[i+1], counts[i])
	}
	if more := counts[len(edges)-1]; more > 0 && !o.Compat {
		_, _ = fmt.Fprintf(out, "%5d   inf %d\n", edges[len(edges)-1], more)
	}
	return out.Flush()
}

// WriteCSV writes the latencies of the whole run: a line "from, to, count" for every bucket up to the last non-empty
// one, without a header. Buckets are those of HdrHistogram with 3 significant digits, in the unit of latencies.
func WriteCSV(w io.Writer, o *Options, h *measure.Histogram) error {
	out := bufio.NewWriter(w)
	for _, b := range bars(h, int64(o.Unit)) {
		_, _ = fmt.Fprintf(out, "%d, %d, %d\n", b.from, b.to, b.count)
	}
	return out.Flush()
}

// bar is a bucket.
type bar struct {
	from, to int64
	count    uint64
}

// bars returns the buckets of a distribution in another unit, including empty ones. A value counts as the highest value
// of its bucket in ns, as in quantiles.
func bars(h *measure.Histogram, unitNs int64) (out []bar) {
	units := measure.NewHistogram()
	h.Each(func(_, hi int64, n uint64) bool {
		units.RecordN(min(hi, h.Max())/unitNs, n)
		return true
	})
	next := int64(0)
	units.Each(func(lo, hi int64, n uint64) bool {
		for ; next < lo; next = bucketEnd(next) + 1 {
			out = append(out, bar{from: next, to: bucketEnd(next)})
		}
		out = append(out, bar{lo, hi, n})
		next = hi + 1
		return true
	})
	return out
}

// bucketEnd returns the last value of the bucket that begins at from. Buckets hold one value each below 2048, two below
// 4096, four below 8192, and so on.
func bucketEnd(from int64) int64 {
	return from + 1<<max(0, bits.Len64(uint64(from))-11) - 1
}
