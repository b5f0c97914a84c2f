package export

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"brunt/internal/measure"
)

// openMetricsFile writes counters and gauges as they were at the end of each interval. The format wants
// all samples of a metric together, so that they wait in memory until the end. Histograms are left out:
// quantiles are there as gauges.
type openMetricsFile struct {
	out     io.Writer
	names   names
	ladders *ladders
	all     *measure.Histogram
	sums    sums
	heads   map[string][]byte
	samples map[string]*bytes.Buffer
}

func newOpenMetricsFile(w io.Writer, n names) *openMetricsFile {
	f := &openMetricsFile{
		out: w, names: n, ladders: newLadders(), all: measure.NewHistogram(),
		heads: map[string][]byte{}, samples: map[string]*bytes.Buffer{},
	}
	f.sums.grow(len(n.operations), len(n.addresses))
	return f
}

// Interval implements measure.Sink.
func (f *openMetricsFile) Interval(iv *measure.Interval) error {
	p := newPoint(iv, f.ladders, f.all)
	f.sums.add(p, f.ladders)
	for _, family := range build(f.ladders, &f.names, &f.sums, p, nil) {
		if family.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		for _, m := range family.Metric {
			m.TimestampMs = proto.Int64(p.unixNs / 1e6)
		}
		if err := f.family(family); err != nil {
			return err
		}
	}
	return nil
}

// family adds a family's samples to those of its name.
func (f *openMetricsFile) family(family *dto.MetricFamily) error {
	var text bytes.Buffer
	if _, err := expfmt.MetricFamilyToOpenMetrics(&text, family); err != nil {
		return fmt.Errorf("write %s in OpenMetrics' format: %w", family.GetName(), err)
	}
	name := family.GetName()
	samples := f.samples[name]
	if samples == nil {
		samples = &bytes.Buffer{}
		f.samples[name] = samples
	}
	for line := range bytes.Lines(text.Bytes()) {
		if bytes.HasPrefix(line, []byte("#")) {
			if samples.Len() == 0 {
				f.heads[name] = append(f.heads[name], line...)
			}
			continue
		}
		samples.Write(line)
	}
	return nil
}

// Close writes everything.
func (f *openMetricsFile) Close() error {
	var all []string
	for name := range f.samples {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, name := range all {
		if _, err := f.out.Write(f.heads[name]); err != nil {
			return err
		}
		if _, err := f.samples[name].WriteTo(f.out); err != nil {
			return err
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(f.out)
	return err
}
