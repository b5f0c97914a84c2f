package output

import (
	"fmt"
	"io"
	"slices"

	"brunt/internal/measure"
)

// Logs writes one HdrHistogram log an operation, <prefix><operation>.hlog, with a histogram of
// nanoseconds for each interval. (The format: HistogramLogWriter of HdrHistogram, version 1.2;
// Interval_Max is in milliseconds.) It is used by one goroutine.
type Logs struct {
	Prefix string
	Open   Open

	baseUnixNs int64
	files      map[string]io.WriteCloser
}

// Add writes an interval of an operation. Times are nanoseconds; latencies may be nil.
func (l *Logs) Add(name string, startUnixNs, durationNs int64, latencies *measure.Histogram) error {
	if latencies == nil || latencies.Count() == 0 {
		return nil
	}
	if l.files == nil {
		l.files = map[string]io.WriteCloser{}
	}
	if l.baseUnixNs == 0 {
		l.baseUnixNs = startUnixNs
	}
	f := l.files[name]
	if f == nil {
		var err error
		if f, err = l.Open(l.Prefix + name + ".hlog"); err != nil {
			return fmt.Errorf("histogram log: %w; check hdrhistogram.output.path", err)
		}
		l.files[name] = f
		fmt.Fprintf(f, "#[Histogram log format version 1.2]\n#[StartTime: %.3f (seconds since epoch)]\n#[BaseTime: %.3f (seconds since epoch)]\n",
			float64(l.baseUnixNs)/1e9, float64(l.baseUnixNs)/1e9)
		fmt.Fprint(f, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	}
	_, err := fmt.Fprintf(f, "%.3f,%.3f,%.3f,%s\n",
		float64(startUnixNs-l.baseUnixNs)/1e9, float64(durationNs)/1e9, float64(latencies.Max())/1e6, latencies.EncodeHDR())
	return err
}

// Close closes the files and returns the operations that have one, sorted.
func (l *Logs) Close() (names []string, err error) {
	for name, f := range l.files {
		names = append(names, name)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	slices.Sort(names)
	return names, err
}
