package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"brunt/internal/measure"
)

// openMetricsFile writes counters and gauges as they were at the end of each interval. The format wants
// all samples of a metric together, so that they wait in a pile until the end. Histograms are left out:
// quantiles are there as gauges.
type openMetricsFile struct {
	out      io.Writer
	names    names
	ladders  *ladders
	all      *measure.Histogram
	sums     point
	families map[string]*metricLines
	pile     pile
	text     bytes.Buffer
}

// metricLines are the lines of a family: what stands above them, and for each set of labels where its
// samples wait.
type metricLines struct {
	head    []byte
	stacks  map[string]*stack
	ordered []*stack // as they came
}

func newOpenMetricsFile(w io.Writer, n names) *openMetricsFile {
	f := &openMetricsFile{out: w, names: n, ladders: newLadders(), all: measure.NewHistogram(), families: map[string]*metricLines{}}
	f.sums.grow(len(n.operations), len(n.addresses))
	return f
}

// Interval implements measure.Sink.
func (f *openMetricsFile) Interval(iv *measure.Interval) error {
	p := newPoint(iv, f.ladders, f.all)
	f.sums.add(p)
	for _, family := range build(f.ladders, &f.names, &f.sums, p, nil) {
		if family.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		for _, m := range family.Metric {
			m.TimestampMs = proto.Int64(p.unixNs / 1e6)
			if err := f.sample(family, m); err != nil {
				return fmt.Errorf("write %s in OpenMetrics' format: %w", family.GetName(), err)
			}
		}
	}
	return nil
}

// sample puts one metric's sample on its stack.
func (f *openMetricsFile) sample(family *dto.MetricFamily, m *dto.Metric) error {
	f.text.Reset()
	one := dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type, Metric: []*dto.Metric{m}}
	if _, err := expfmt.MetricFamilyToOpenMetrics(&f.text, &one); err != nil {
		return err
	}
	lines := f.families[family.GetName()]
	if lines == nil {
		lines = &metricLines{stacks: map[string]*stack{}}
		f.families[family.GetName()] = lines
	}
	var labels strings.Builder
	for _, l := range m.Label {
		labels.WriteString(l.GetValue() + "\x00")
	}
	to := lines.stacks[labels.String()]
	if to == nil {
		to = f.pile.stack()
		lines.stacks[labels.String()] = to
		lines.ordered = append(lines.ordered, to)
	}
	head := 0
	for line := range bytes.Lines(f.text.Bytes()) {
		if !bytes.HasPrefix(line, []byte("#")) {
			break
		}
		head += len(line)
	}
	if lines.head == nil {
		lines.head = bytes.Clone(f.text.Bytes()[:head])
	}
	return f.pile.put(to, f.text.Bytes()[head:])
}

// Close writes everything.
func (f *openMetricsFile) Close() (err error) {
	defer func() { err = errors.Join(err, f.pile.close()) }()
	for _, name := range slices.Sorted(maps.Keys(f.families)) {
		lines := f.families[name]
		if _, err := f.out.Write(lines.head); err != nil {
			return err
		}
		for _, s := range lines.ordered {
			if err := f.pile.writeTo(f.out, s); err != nil {
				return err
			}
		}
	}
	_, err = expfmt.FinalizeOpenMetrics(f.out)
	return err
}
