package output

import (
	"fmt"
	"io"
	"strings"
)

// Open makes a file to write to.
type Open func(name string) (io.WriteCloser, error)

// Percentiles writes one file an operation, <prefix><operation>-percentiles.txt, with the whole
// distribution in HdrHistogram's percentile format, and says so on w.
func (r *Results) Percentiles(w io.Writer, prefix string, open Open) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.names() {
		path := fmt.Sprintf("%s%s-percentiles.txt", prefix, name)
		fmt.Fprintf(w, "Exporting the full latency spectrum for operation '%s' in percentile output format into file: %s.\n", name, path)
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

// WriteYCSB writes the results as YCSB's exporters do: text ("[READ], Operations, 491") or json (an
// object each).
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
