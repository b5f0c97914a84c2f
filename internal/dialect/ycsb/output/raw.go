package output

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"brunt/internal/measure"
)

// Logs writes a HdrHistogram log for each operation, <prefix><operation>.hlog, with a histogram of nanoseconds for each
// interval. (The format: HistogramLogWriter of HdrHistogram, version 1.2; Interval_Max is in milliseconds.) It must be
// used by one goroutine.
type Logs struct {
	Prefix string
	Open   Open

	baseUnixNs int64
	files      map[string]io.WriteCloser
	encoder    measure.HDREncoder
}

// Add writes an interval of an operation. Times are in nanoseconds. If latencies is nil or empty, it writes nothing.
func (l *Logs) Add(name string, startUnixNs, durationNs int64, latencies *measure.Histogram) error {
	if latencies == nil || latencies.Count() == 0 {
		return nil
	}
	if l.files == nil {
		l.files = map[string]io.WriteCloser{}
	}
	l.baseUnixNs = cmp.Or(l.baseUnixNs, startUnixNs)
	f := l.files[name]
	if f == nil {
		var err error
		if f, err = l.Open(l.Prefix + name + ".hlog"); err != nil {
			return fmt.Errorf("histogram log: %w; check hdrhistogram.output.path", err)
		}
		l.files[name] = f
		fmt.Fprintf(
			f, "#[Histogram log format version 1.2]\n#[StartTime: %.3f (seconds since epoch)]\n#[BaseTime: %.3f (seconds since epoch)]\n",
			float64(l.baseUnixNs)/1e9, float64(l.baseUnixNs)/1e9)
		fmt.Fprint(f, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	}
	_, err := fmt.Fprintf(f, "%.3f,%.3f,%.3f,%s\n", float64(startUnixNs-l.baseUnixNs)/1e9, float64(durationNs)/1e9,
		float64(latencies.Max())/1e6, l.encoder.Append(nil, latencies))
	return err
}

// Close closes the files.
func (l *Logs) Close() (err error) {
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Raw stores the start and latency of every operation, 24 bytes each. It is safe for concurrent use.
type Raw struct {
	mu      sync.Mutex
	names   []string
	inTotal []bool
	entries []entry
}

type entry struct {
	name      uint16
	startNs   int64 // on the run's clock
	latencyUs int64
}

// Add stores an operation. total says whether it also counts for TOTAL.
func (r *Raw) Add(name string, total bool, startNs, latencyNs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := slices.Index(r.names, name)
	if n < 0 {
		n = len(r.names)
		r.names, r.inTotal = append(r.names, name), append(r.inTotal, total)
	}
	r.entries = append(r.entries, entry{uint16(n), startNs, latencyNs / 1000})
}

// Write writes all operations as CSV: a header, and then, grouped by operation, its name, its start in microseconds
// since the epoch, and its latency in microseconds. Operations that began before fromNs on the run's clock are left
// out. unixNs is the wall-clock time at the origin of the run's clock.
func (r *Raw) Write(w io.Writer, fromNs, unixNs int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "operation,timestamp_us,latency_us")
	write := func(name string, take func(entry) bool) {
		for _, e := range r.entries {
			if e.startNs >= fromNs && take(e) {
				fmt.Fprintf(out, "%s,%d,%d\n", name, (unixNs+e.startNs)/1000, e.latencyUs)
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(r.names)) {
		write(name, func(e entry) bool { return r.names[e.name] == name })
	}
	write(Total, func(e entry) bool { return r.inTotal[e.name] })
	return out.Flush()
}
