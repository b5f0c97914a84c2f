package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// row is one interval of one operation. Times are in nanoseconds. The figures of a distribution without values are
// nil.
type row struct {
	Time      time.Time `parquet:"time,timestamp(nanosecond)"` // start of the interval
	StartNs   int64     `parquet:"start_ns"`                   // since the load started
	EndNs     int64     `parquet:"end_ns"`
	Phase     string    `parquet:"phase,dict"`
	Kind      string    `parquet:"kind,dict"`
	WarmUp    bool      `parquet:"warm_up"`
	Operation string    `parquet:"operation,dict"`
	Done      int64     `parquet:"done"`
	OK        int64     `parquet:"ok"`
	Failed    int64     `parquet:"failed"`
	Attempts  int64     `parquet:"attempts"`
	Retries   int64     `parquet:"retries"`
	Dropped   int64     `parquet:"dropped"`
	Late      int64     `parquet:"late"`

	ResponseMin  *int64   `parquet:"response_min_ns,optional"` // response times are of successful operations
	ResponseMean *float64 `parquet:"response_mean_ns,optional"`
	ResponseP50  *int64   `parquet:"response_p50_ns,optional"`
	ResponseP90  *int64   `parquet:"response_p90_ns,optional"`
	ResponseP95  *int64   `parquet:"response_p95_ns,optional"`
	ResponseP99  *int64   `parquet:"response_p99_ns,optional"`
	ResponseP999 *int64   `parquet:"response_p999_ns,optional"`
	ResponseMax  *int64   `parquet:"response_max_ns,optional"`
	ServiceMean  *float64 `parquet:"service_mean_ns,optional"`
	ServiceP99   *int64   `parquet:"service_p99_ns,optional"`
	ServiceMax   *int64   `parquet:"service_max_ns,optional"`
	LagP99       *int64   `parquet:"lag_p99_ns,optional"`

	StreamFirstMin  *int64   `parquet:"stream_first_min_ns,optional"`
	StreamFirstMean *float64 `parquet:"stream_first_mean_ns,optional"`
	StreamFirstP50  *int64   `parquet:"stream_first_p50_ns,optional"`
	StreamFirstP90  *int64   `parquet:"stream_first_p90_ns,optional"`
	StreamFirstP95  *int64   `parquet:"stream_first_p95_ns,optional"`
	StreamFirstP99  *int64   `parquet:"stream_first_p99_ns,optional"`
	StreamFirstP999 *int64   `parquet:"stream_first_p999_ns,optional"`
	StreamFirstMax  *int64   `parquet:"stream_first_max_ns,optional"`

	StreamBetweenMin  *int64   `parquet:"stream_between_min_ns,optional"`
	StreamBetweenMean *float64 `parquet:"stream_between_mean_ns,optional"`
	StreamBetweenP50  *int64   `parquet:"stream_between_p50_ns,optional"`
	StreamBetweenP90  *int64   `parquet:"stream_between_p90_ns,optional"`
	StreamBetweenP95  *int64   `parquet:"stream_between_p95_ns,optional"`
	StreamBetweenP99  *int64   `parquet:"stream_between_p99_ns,optional"`
	StreamBetweenP999 *int64   `parquet:"stream_between_p999_ns,optional"`
	StreamBetweenMax  *int64   `parquet:"stream_between_max_ns,optional"`

	StreamLagMin  *int64   `parquet:"stream_lag_min_ns,optional"`
	StreamLagMean *float64 `parquet:"stream_lag_mean_ns,optional"`
	StreamLagP50  *int64   `parquet:"stream_lag_p50_ns,optional"`
	StreamLagP90  *int64   `parquet:"stream_lag_p90_ns,optional"`
	StreamLagP95  *int64   `parquet:"stream_lag_p95_ns,optional"`
	StreamLagP99  *int64   `parquet:"stream_lag_p99_ns,optional"`
	StreamLagP999 *int64   `parquet:"stream_lag_p999_ns,optional"`
	StreamLagMax  *int64   `parquet:"stream_lag_max_ns,optional"`
}

// figure returns a figure of a histogram by the end of its column's name; nil if there is no such figure.
func figure(name string, h *measure.Histogram) any {
	switch name {
	case "min_ns":
		return new(h.Min())
	case "mean_ns":
		return new(h.Mean())
	case "p50_ns":
		return new(h.Quantile(0.5))
	case "p90_ns":
		return new(h.Quantile(0.9))
	case "p95_ns":
		return new(h.Quantile(0.95))
	case "p99_ns":
		return new(h.Quantile(0.99))
	case "p999_ns":
		return new(h.Quantile(0.999))
	case "max_ns":
		return new(h.Max())
	}
	return nil
}

// columns returns the names of a row's fields in files.
func columns() []string {
	t := reflect.TypeFor[row]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("parquet"), ",")
	}
	return names
}

// fill sets the figures of an operation's distributions that aren't empty.
func (r *row) fill(o *measure.OperationAccount) {
	v, times, names := reflect.ValueOf(r).Elem(), o.Times(), columns()
	for k, d := range measure.Declared() {
		if (*times[k]).Count() == 0 {
			continue
		}
		for i, name := range names {
			if of, ok := strings.CutPrefix(name, d.Name+"_"); ok {
				v.Field(i).Set(reflect.ValueOf(figure(of, *times[k])))
			}
		}
	}
}

// rowsOf returns the rows of an interval: one for each operation with a count that isn't 0.
func rowsOf(iv *measure.Interval, n *names) (out []row) {
	for i := range iv.Operations {
		o := &iv.Operations[i]
		if o.Counts == (measure.Counts{}) {
			continue
		}
		r := row{
			Time: time.Unix(0, iv.UnixNs).UTC(), StartNs: iv.StartNs, EndNs: iv.EndNs,
			Phase: units.Clean(iv.Phase), Kind: iv.Kind,
			WarmUp:    iv.WarmUp,
			Operation: nameAt(n.operations, i), Done: int64(o.Done), OK: int64(o.OK()), Failed: int64(o.Failed()),
			Attempts: int64(o.Attempts), Retries: int64(o.Retries), Dropped: int64(o.Dropped()), Late: int64(o.Late),
		}
		r.fill(o)
		out = append(out, r)
	}
	return out
}

type parquetFile struct {
	out   *parquet.GenericWriter[row]
	names *names
}

// rowsInGroup is how many rows are kept in memory before they are written.
const rowsInGroup = 20_000

func newParquetFile(w io.Writer, n *names) *parquetFile {
	return &parquetFile{parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(rowsInGroup)), n}
}

// Interval implements measure.Sink.
func (f *parquetFile) Interval(iv *measure.Interval) error {
	_, err := f.out.Write(rowsOf(iv, f.names))
	return err
}

func (f *parquetFile) Close() error { return f.out.Close() }

type csvFile struct {
	out   *csv.Writer
	names *names
	began bool
}

func newCSVFile(w io.Writer, n *names) *csvFile { return &csvFile{out: csv.NewWriter(w), names: n} }

// Interval implements measure.Sink.
func (f *csvFile) Interval(iv *measure.Interval) error {
	f.head()
	for _, r := range rowsOf(iv, f.names) {
		v := reflect.ValueOf(r)
		fields := make([]string, v.NumField())
		for i := range fields {
			fields[i] = csvText(v.Field(i).Interface())
		}
		if err := f.out.Write(fields); err != nil {
			return err
		}
	}
	return nil
}

// head writes the header line once. Its column names are those of the parquet format.
func (f *csvFile) head() {
	if f.began {
		return
	}
	f.began = true
	_ = f.out.Write(columns()) // Close reports the error
}

func csvText(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case *float64:
		if v != nil {
			return strconv.FormatFloat(*v, 'f', -1, 64)
		}
	}
	return ""
}

func (f *csvFile) Close() error {
	f.head()
	f.out.Flush()
	return f.out.Error()
}

// File writes the intervals of a record in a format of other programs.
type File interface {
	measure.Sink
	// Close writes buffered data and the end of the file. It doesn't close the underlying writer.
	Close() error
}

// FileFormats returns the formats that NewFile supports.
func FileFormats() []string { return []string{"csv", "hdr", "prometheus", "influx", "parquet"} }

// NewFile returns a File that writes the intervals of run to w in one of the FileFormats:
//
//	csv, parquet    one row per interval and operation
//	hdr             an HdrHistogram log
//	prometheus      OpenMetrics text with timestamps, for promtool tsdb create-blocks-from openmetrics
//	influx          InfluxDB's line protocol
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
	n := names{run: units.Clean(run.Name), id: units.Clean(run.ID), version: run.Brunt, operations: run.OperationNames()}
	for i, name := range n.operations {
		n.operations[i] = units.Clean(name)
	}
	for i := range run.Targets {
		n.addresses = append(n.addresses, units.Clean(run.Targets[i].Address))
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
