package record

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"brunt/internal/measure"
)

// HDRLog writes a HdrHistogram log, format version 1.3 (github.com/HdrHistogram/HdrHistogram, HistogramLogWriter), for
// HdrHistogram's own tools. It has a line for every interval and operation, with the distribution of its response times
// in nanoseconds. The time columns are in seconds, the maximum is in milliseconds. Answers that were streams have
// further lines, whose tags end in the name of a time: stream_first, stream_between, and service, which is the time to
// the end.
type HDRLog struct {
	out   io.Writer
	names []string
	began bool
	enc   measure.HDREncoder
	line  []byte
}

var _ measure.Sink = (*HDRLog)(nil)

// NewHDRLog returns a log that begins with the first interval. names are the operations' tags; the response times of a
// single operation have no tag.
func NewHDRLog(out io.Writer, names []string) *HDRLog {
	l := &HDRLog{out: out}
	if len(names) > 1 {
		l.names = names
	}
	return l
}

// Interval implements measure.Sink.
func (l *HDRLog) Interval(iv *measure.Interval) error {
	if !l.began {
		if err := l.header(iv); err != nil {
			return err
		}
		l.began = true
	}
	for i := range iv.Operations {
		if err := l.operation(iv, i); err != nil {
			return fmt.Errorf("HdrHistogram log: %w", err)
		}
	}
	return nil
}

func (l *HDRLog) header(iv *measure.Interval) error {
	start := time.Unix(0, iv.UnixNs-iv.StartNs).UTC()
	_, err := fmt.Fprintf(l.out, `#[Histogram log format version 1.3]
#[StartTime: %.3f (seconds since epoch), %s]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
`, float64(start.UnixMilli())/1e3, start.Format("Mon Jan 02 15:04:05 UTC 2006"))
	return err
}

func (l *HDRLog) operation(iv *measure.Interval, i int) error {
	o := &iv.Operations[i]
	name := ""
	if l.names != nil {
		name = tag(l.names[i])
	}
	times := o.Times()
	for k, d := range measure.Declared() {
		of := name
		switch {
		case d.Metric == "response":
		case d.Stream, d.Metric == "service" && o.StreamFirst.Count() > 0:
			if of = d.Name; name != "" {
				of = name + ":" + d.Name
			}
		default:
			continue
		}
		if err := l.write(iv, of, *times[k]); err != nil {
			return err
		}
	}
	return nil
}

// write writes a line, unless there are no values.
func (l *HDRLog) write(iv *measure.Interval, tag string, h *measure.Histogram) error {
	if h.Count() == 0 {
		return nil
	}
	b := l.line[:0]
	if tag != "" {
		b = append(append(append(b, "Tag="...), tag...), ',')
	}
	for _, x := range []float64{float64(iv.StartNs) / 1e9, float64(iv.EndNs-iv.StartNs) / 1e9, float64(h.Max()) / 1e6} {
		b = append(strconv.AppendFloat(b, x, 'f', 3, 64), ',')
	}
	l.line = append(l.enc.Append(b, h), '\n')
	_, err := l.out.Write(l.line)
	return err
}

// tag returns name with the characters that the format forbids in tags, commas and white space, replaced by "_".
func tag(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c == ',' || c <= ' ' {
			b[i] = '_'
		}
	}
	return string(b)
}
