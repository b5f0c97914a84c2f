package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// mostMetricsBytes bounds an answer with metrics.
const mostMetricsBytes = 16 << 20

// scrape is a service's own metrics in Prometheus' text format.
type scrape struct {
	name   string
	url    string
	client *http.Client
}

// newScrape returns a source for an address. Its user and password are used and never shown.
func newScrape(u *url.URL, client *http.Client) *scrape {
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	return &scrape{name: "url:" + shown.String(), url: u.String(), client: client}
}

// Name implements Source.
func (s *scrape) Name() string { return s.name }

// Sample implements Source.
func (s *scrape) Sample(ctx context.Context) (Sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, fmt.Errorf("not an address")
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %s", answer.Status)
	}
	families, err := parseMetrics(io.LimitReader(answer.Body, mostMetricsBytes))
	if err != nil {
		return nil, err
	}
	out := pickAll(families)
	if len(out) == 0 {
		return nil, fmt.Errorf("its metrics hold no figures of a process, of Go, the JVM, .NET or Node.js")
	}
	return out, nil
}

// withoutURL takes the address out of an error of the client: it may hold a password.
func withoutURL(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", sampleTimeout)
	}
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// parseMetrics reads Prometheus' text format. The parser panics on some texts that aren't.
func parseMetrics(r io.Reader) (families map[string]*dto.MetricFamily, err error) {
	defer func() {
		if p := recover(); p != nil {
			families, err = nil, errors.New("its answer isn't in Prometheus' text format")
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err = parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("its answer isn't in Prometheus' text format: %w", err)
	}
	return families, nil
}

// pickAll takes what is known out of families: of each metric the first of its picks that is
// there.
func pickAll(families map[string]*dto.MetricFamily) (out Sample) {
	for _, p := range picks() {
		if slices.ContainsFunc(out, func(v Value) bool { return v.Name == p.metric.Name }) {
			continue
		}
		n, ok := p.take(families)
		if !ok {
			continue
		}
		v := Value{Metric: p.metric, Value: n}
		if limit, ok := p.limit(families); ok {
			v.Limit, v.LimitName = limit, p.limitFamily
		}
		out = append(out, v)
	}
	return out
}

// take sums the family's series that fit.
func (p *pick) take(families map[string]*dto.MetricFamily) (sum float64, ok bool) {
	return p.sum(families[p.family], func(float64) bool { return true })
}

// limit sums the limit's series; some say −1 or a huge number for none.
func (p *pick) limit(families map[string]*dto.MetricFamily) (sum float64, ok bool) {
	if p.limitFamily == "" {
		return 0, false
	}
	return p.sum(families[p.limitFamily], func(n float64) bool { return n > 0 && n < memoryUnlimited })
}

func (p *pick) sum(family *dto.MetricFamily, counts func(float64) bool) (sum float64, ok bool) {
	for _, m := range family.GetMetric() {
		if p.label != "" && !hasLabel(m, p.label, p.is) {
			continue
		}
		n, has := p.value(m)
		if !has || math.IsNaN(n) || math.IsInf(n, 0) || !counts(n) {
			continue
		}
		sum += n
		ok = true
	}
	if p.scale != 0 {
		sum *= p.scale
	}
	return sum, ok
}

func hasLabel(m *dto.Metric, name, value string) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value })
}

// value is a series' number: the part of a summary or histogram that is asked for, else its value.
func (p *pick) value(m *dto.Metric) (float64, bool) {
	switch {
	case m.Summary != nil && p.part == partCount:
		return float64(m.Summary.GetSampleCount()), true
	case m.Summary != nil && p.part == partSum:
		return m.Summary.GetSampleSum(), true
	case m.Histogram != nil && p.part == partCount:
		return float64(m.Histogram.GetSampleCount()), true
	case m.Histogram != nil && p.part == partSum:
		return m.Histogram.GetSampleSum(), true
	case p.part != partValue:
		return 0, false
	case m.Gauge != nil:
		return m.Gauge.GetValue(), true
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Untyped != nil:
		return m.Untyped.GetValue(), true
	}
	return 0, false
}
