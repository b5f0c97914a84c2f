package picodata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"brunt/internal/inspect"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The kinds of objects of a reading.
const (
	kindCounter = "counter"
	kindGauge   = "gauge"
	kindTable   = "rows" // of tables
)

// mostMetricsB is the size up to which metrics are read.
const mostMetricsB = 32 << 20

// tableLength is the metric of a table's rows on an instance, which its label names.
const tableLength = "pico_table_len"

// reading reads the metrics of all instances. Those of an instance that doesn't answer are missing, which is noted.
func (i *Inspector) reading(ctx context.Context) *inspect.Reading {
	out := &inspect.Reading{At: time.Now(), Epoch: "0", Objects: map[inspect.Object]map[string]float64{}}
	for _, address := range i.metrics {
		families, err := i.scrape(ctx, address)
		if err != nil {
			i.unread(address, err)
			continue
		}
		counters, gauges := map[string]float64{}, map[string]float64{}
		for name, f := range families {
			if name == tableLength {
				addTables(out, f)
				continue
			}
			add(counters, gauges, name, f)
		}
		out.Objects[inspect.Object{Kind: kindCounter, Name: address}] = counters
		out.Objects[inspect.Object{Kind: kindGauge, Name: address}] = gauges
	}
	return out
}

// scrape reads the metrics of an instance.
func (i *Inspector) scrape(ctx context.Context, address string) (map[string]*dto.MetricFamily, error) {
	i.queries++
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/metrics", nil)
	if err != nil {
		return nil, errors.New("it isn't an address")
	}
	answer, err := i.client.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			return nil, e.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer's status is %d", answer.StatusCode)
	}
	return parse(io.LimitReader(answer.Body, mostMetricsB))
}

// parse parses metrics. It recovers from panics of the parser on malformed input.
func parse(r io.Reader) (families map[string]*dto.MetricFamily, err error) {
	bad := errors.New("its answer isn't in Prometheus' text format")
	defer func() {
		if p := recover(); p != nil {
			families, err = nil, bad
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	if families, err = parser.TextToMetricFamilies(r); err != nil {
		return nil, bad
	}
	return families, nil
}

// add adds the sums over all labels of a metric. A metric whose type isn't given is a counter if its name ends like one.
func add(counters, gauges map[string]float64, name string, f *dto.MetricFamily) {
	for _, m := range f.GetMetric() {
		switch {
		case m.Histogram != nil:
			counters[name+"_sum"] += m.Histogram.GetSampleSum()
			counters[name+"_count"] += float64(m.Histogram.GetSampleCount())
		case m.Summary != nil:
			counters[name+"_sum"] += m.Summary.GetSampleSum()
			counters[name+"_count"] += float64(m.Summary.GetSampleCount())
		case m.Counter != nil:
			counters[name] += m.Counter.GetValue()
		case m.Untyped != nil && (strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_sum") ||
			strings.HasSuffix(name, "_count")):
			counters[name] += m.Untyped.GetValue()
		case m.Untyped != nil:
			gauges[name] += m.Untyped.GetValue()
		case m.Gauge != nil:
			gauges[name] += m.Gauge.GetValue()
		}
	}
}

// addTables adds the rows of tables on an instance.
func addTables(out *inspect.Reading, f *dto.MetricFamily) {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() != "table" && l.GetName() != "name" {
				continue
			}
			o := inspect.Object{Kind: kindGauge, Name: kindTable + " " + strings.ToLower(l.GetValue())}
			if out.Objects[o] == nil {
				out.Objects[o] = map[string]float64{}
			}
			out.Objects[o][kindTable] += m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
}

// sightings sums up what readings saw, by instance.
type sightings struct {
	loops map[string][]float64 // the loop's time, ms
	terms map[string][2]float64
	late  map[string]int // readings in which entries of the log waited to be applied
}

const (
	loopTime       = "tnt_ev_loop_time"
	raftTerm       = "pico_raft_term"
	raftCommitted  = "pico_raft_commit_index"
	raftApplied    = "pico_raft_applied_index"
	leastUnwritten = 1000 // entries
)

func (s *sightings) add(r *inspect.Reading) {
	if s.loops == nil {
		s.loops, s.terms, s.late = map[string][]float64{}, map[string][2]float64{}, map[string]int{}
	}
	for o, g := range r.Objects {
		if o.Kind != kindGauge {
			continue
		}
		if ms, ok := g[loopTime]; ok {
			s.loops[o.Name] = append(s.loops[o.Name], ms)
		}
		if term, ok := g[raftTerm]; ok {
			t, seen := s.terms[o.Name]
			if !seen {
				t[0] = term
			}
			t[1] = max(t[1], term)
			s.terms[o.Name] = t
		}
		if g[raftCommitted]-g[raftApplied] >= leastUnwritten {
			s.late[o.Name]++
		}
	}
}
