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

// mostMetricsBytes is the most that is read of a server's answer.
const mostMetricsBytes = 16 << 20

// scrape is the Source of metrics in Prometheus' text format: a service's own, or a machine's by node_exporter.
type scrape struct {
	name   string
	url    string
	client *http.Client
	picks  []pick
	holds  string // the expected metrics, for the error if there are none
}

// newScrape returns the source of the metrics at the address in text. kind is "url" or nodeKind. User and
// password in the address are used for the request but never shown.
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

// nodeKind is the prefix of the names of other machines.
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

// withoutURL removes the address, which may hold a password, from an error of the HTTP client.
func withoutURL(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", sampleTimeout)
	}
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// parseMetrics parses Prometheus' text format. It recovers from panics of the parser on malformed input.
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

// pickAll returns the values of the known metrics. For each metric the first pick that is found wins; picks
// with adds are added to it.
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

// take sums the matching series of the pick's family. ok is false if there is none.
func (p *pick) take(families map[string]*dto.MetricFamily) (sum float64, ok bool) {
	return p.sum(families[p.family], func(float64) bool { return true })
}

// limit sums the series of the limit's family. It ignores negative and huge values, which some libraries use
// for "no limit".
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

// fits reports whether a series has the label value that the pick selects.
func (p *pick) fits(m *dto.Metric) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
		return l.GetName() == p.label && (p.keep == nil && l.GetValue() == p.is || p.keep != nil && p.keep(l.GetValue()))
	})
}

// value returns the number of a series: the selected part of a summary or histogram, or else the series' value.
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
