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

// scrape is metrics in Prometheus' text format: a service's own, or a machine's.
type scrape struct {
	name   string
	url    string
	client *http.Client
	picks  []pick
	holds  string // what its metrics should hold
}

// newScrape returns a source for an address that text names after a kind and a colon. Its user and
// password are used and never shown.
func newScrape(kind, text string) (*scrape, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the address after %[1]s: is malformed; give one such as %[1]s:http://127.0.0.1:9100/metrics",
			kind)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%[1]s:%[2]s: give an http or https address, such as %[1]s:http://127.0.0.1:9100/metrics",
			kind, u.Redacted())
	}
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	s := &scrape{
		name: kind + ":" + shown.String(), url: u.String(), client: &http.Client{Timeout: sampleTimeout},
		picks: picks(), holds: "figures of a process, of Go, the JVM, .NET or Node.js",
	}
	if kind == nodeKind {
		s.picks, s.holds = nodePicks(), "figures of a machine, as node_exporter gives them"
	}
	return s, nil
}

// nodeKind is what sources are called by that are other machines.
const nodeKind = "node"

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
	out := pickAll(s.picks, families)
	if len(out) == 0 {
		return nil, fmt.Errorf("its metrics hold no %s", s.holds)
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
func pickAll(picks []pick, families map[string]*dto.MetricFamily) (out Sample) {
	for _, p := range picks {
		at := slices.IndexFunc(out, func(v Value) bool { return v.Name == p.metric.Name })
		if at >= 0 && !p.adds {
			continue
		}
		n, ok := p.take(families)
		if !ok {
			continue
		}
		if at >= 0 {
			out[at].Value += n
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
		if p.label != "" && !p.fits(m) {
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

// fits reports whether a series has the label that is asked for.
func (p *pick) fits(m *dto.Metric) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
		return l.GetName() == p.label && (p.keep == nil && l.GetValue() == p.is || p.keep != nil && p.keep(l.GetValue()))
	})
}

// value is a series' number: the part of a summary or histogram that is asked for, else its value.
func (p *pick) value(m *dto.Metric) (float64, bool) {
	switch {
	case p.part == partSeries:
		return 1, true
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
