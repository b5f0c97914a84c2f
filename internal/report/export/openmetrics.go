package export

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"brunt/internal/measure"
)

// openMetricsFile writes the counters and gauges as of the end of each interval. The format requires all samples of
// a metric to be adjacent, so they are kept in a pile until Close. Histograms are left out: quantiles are written
// as gauges.
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

// metricLines are the lines of a family: the head (its comment lines) and a stack of samples for each set of
// labels.
type metricLines struct {
	head    []byte
	stacks  map[string]*stack
	ordered []*stack // in the order in which they were created
}

func newOpenMetricsFile(w io.Writer, n names) *openMetricsFile {
	f := &openMetricsFile{out: w, names: n, ladders: newLadders(), all: measure.NewHistogram(),
		families: map[string]*metricLines{}}
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

// sample adds one sample to the stack of its family and labels.
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

// Close writes the whole file.
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

// pileBytes is how much of a pile is kept in memory.
const pileBytes = 8 << 20

// pile keeps several texts that are written in turns and read one after the other. What exceeds pileBytes is moved
// to a temporary file.
type pile struct {
	stacks []*stack
	bytes  int // in memory
	most   int // replaces pileBytes if not 0
	file   *os.File
	end    int64
}

// stack is one text of a pile. Its beginning is in the file, in parts; its end is in memory.
type stack struct {
	parts []part
	text  []byte
}

// part is the position and length of a piece of text in the file.
type part struct{ at, bytes int64 }

// stack adds an empty text to the pile.
func (p *pile) stack() *stack {
	s := &stack{}
	p.stacks = append(p.stacks, s)
	return s
}

// put appends to a text of the pile.
func (p *pile) put(s *stack, text []byte) error {
	s.text = append(s.text, text...)
	p.bytes += len(text)
	if p.bytes <= cmp.Or(p.most, pileBytes) {
		return nil
	}
	return p.spill()
}

// spill moves the texts in memory to the file.
func (p *pile) spill() error {
	if p.file == nil {
		file, err := os.CreateTemp("", "brunt-export-*")
		if err != nil {
			return fmt.Errorf("no temporary file for what doesn't fit into memory: %w; set TMPDIR to a folder with room", err)
		}
		p.file = file
		// Where an open file can be unlinked, nothing is left behind if the process is killed.
		_ = os.Remove(file.Name())
	}
	out := bufio.NewWriterSize(p.file, 1<<20)
	for _, s := range p.stacks {
		if len(s.text) == 0 {
			continue
		}
		if _, err := out.Write(s.text); err != nil {
			return p.full(err)
		}
		s.parts = append(s.parts, part{p.end, int64(len(s.text))})
		p.end += int64(len(s.text))
		s.text = s.text[:0]
	}
	p.bytes = 0
	if err := out.Flush(); err != nil {
		return p.full(err)
	}
	return nil
}

func (p *pile) full(err error) error {
	return fmt.Errorf("what doesn't fit into memory can't be written: %w; set TMPDIR to a folder with room", err)
}

// writeTo writes a whole text to w.
func (p *pile) writeTo(w io.Writer, s *stack) error {
	for _, part := range s.parts {
		if _, err := io.Copy(w, io.NewSectionReader(p.file, part.at, part.bytes)); err != nil {
			return err
		}
	}
	_, err := w.Write(s.text)
	return err
}

// close removes the temporary file.
func (p *pile) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	// On most systems spill has already unlinked it.
	_ = os.Remove(p.file.Name())
	return err
}
