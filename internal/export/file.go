package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// File writes a record's intervals for other programs to read.
type File interface {
	measure.Sink
	// Close writes what is left. It doesn't close the writer below.
	Close() error
}

// FileFormats names what NewFile takes.
func FileFormats() []string { return []string{"csv", "hdr", "prometheus", "influx", "parquet"} }

// NewFile writes the intervals of run to w in one of the FileFormats: csv and parquet have a row for each
// interval and operation; hdr is a HdrHistogram log; prometheus is OpenMetrics' text with times, for
// promtool tsdb create-blocks-from openmetrics; influx is InfluxDB's line protocol.
func NewFile(w io.Writer, format string, run *record.Run) (File, error) {
	n := namesOf(run)
	switch format {
	case "csv":
		return newCSVFile(w, &n), nil
	case "parquet":
		return newParquetFile(w, &n), nil
	case "hdr":
		out := bufio.NewWriter(w)
		return &hdrFile{record.NewHDRLog(out, n.operations), out}, nil
	case "influx":
		return &influxFile{out: bufio.NewWriter(w), names: n, ladders: newLadders(), all: measure.NewHistogram()}, nil
	case "prometheus":
		return newOpenMetricsFile(w, n), nil
	}
	return nil, fmt.Errorf("unknown format %q; use %s", format, strings.Join(FileFormats(), ", "))
}

func namesOf(run *record.Run) names {
	n := names{run: run.Name, id: run.ID, version: run.Brunt}
	for i := range run.Operations {
		n.operations = append(n.operations, run.Operations[i].Name)
	}
	for i := range run.Targets {
		n.addresses = append(n.addresses, run.Targets[i].Address)
		n.protocol = run.Targets[i].Protocol
	}
	return n
}

type hdrFile struct {
	*record.HDRLog
	out *bufio.Writer
}

func (f *hdrFile) Close() error { return f.out.Flush() }

type influxFile struct {
	out     *bufio.Writer
	names   names
	ladders *ladders
	all     *measure.Histogram
	lines   lineWriter
	format  influx
}

// Interval implements measure.Sink.
func (f *influxFile) Interval(iv *measure.Interval) error {
	f.lines.out = f.lines.out[:0]
	f.format.point(&f.lines, &f.names, newPoint(iv, f.ladders, f.all))
	_, err := f.out.Write(f.lines.out)
	return err
}

func (f *influxFile) Close() error { return f.out.Flush() }
