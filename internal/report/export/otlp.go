package export

import (
	"fmt"
	"net/url"
	"strings"

	dto "github.com/prometheus/client_model/go"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// otlp writes OpenTelemetry metrics as protobuf over HTTP (see the OTLP specification): counters as cumulative
// sums, distributions as cumulative exponential histograms.
type otlp struct {
	endpoint
	ladders *ladders
}

// newOTLP parses http://HOST:4318; the default path is /v1/metrics. OTEL_EXPORTER_OTLP_HEADERS adds headers:
// name=value,…, with percent-encoded values.
func newOTLP(u *url.URL, getenv func(string) string, l *ladders) (destination, error) {
	d := &otlp{newEndpoint("otlp", u, "/v1/metrics"), l}
	for _, h := range strings.Split(getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		if strings.TrimSpace(h) == "" {
			continue
		}
		name, value, ok := strings.Cut(h, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS isn't a list of name=value")
		}
		d.headers = append(d.headers, label{name, value})
	}
	d.headers = append(d.headers, label{"Content-Type", "application/x-protobuf"})
	return d, nil
}

// accepted returns an error if the collector answered with success but rejected data points.
func (d *otlp) accepted(body []byte) error {
	var answer collector.ExportMetricsServiceResponse
	if err := proto.Unmarshal(body, &answer); err != nil {
		return nil // a collector with another answer has still accepted the data
	}
	if p := answer.GetPartialSuccess(); p.GetRejectedDataPoints() > 0 {
		return fmt.Errorf("it refused %d data points: %s", p.GetRejectedDataPoints(), short([]byte(p.GetErrorMessage())))
	}
	return nil
}

func (d *otlp) encode(n *names, points []*point, before *point) ([]byte, error) {
	b := &otlpBuilder{at: map[string]*metrics.Metric{}}
	for _, p := range points {
		before.add(p)
		b.timeNs, b.startNs = uint64(p.unixNs), uint64(p.unixNs-p.endNs)
		for _, f := range build(d.ladders, n, before, p, nil) {
			b.family(f)
		}
	}
	return proto.Marshal(&collector.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: &resource.Resource{Attributes: attributes([]label{
			{"service.name", "brunt"}, {"service.version", n.version}, {"service.instance.id", n.id}, {"brunt.run", n.run},
		})},
		ScopeMetrics: []*metrics.ScopeMetrics{{
			Scope:   &common.InstrumentationScope{Name: "brunt", Version: valid(n.version)},
			Metrics: b.all,
		}},
	}}})
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func attributes(labels []label) (out []*common.KeyValue) {
	for _, l := range labels {
		out = append(out, &common.KeyValue{Key: l.name,
			Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(l.value)}}})
	}
	return out
}

// otlpBuilder converts the metric families of several intervals to OpenTelemetry metrics.
type otlpBuilder struct {
	all             []*metrics.Metric
	at              map[string]*metrics.Metric
	startNs, timeNs uint64 // ns since 1970
}

func (b *otlpBuilder) family(f *dto.MetricFamily) {
	name := f.GetName()
	unit := ""
	if base := strings.TrimSuffix(name, "_total"); strings.HasSuffix(base, "_seconds") {
		unit = "s"
	} else if strings.HasSuffix(base, "_bytes") {
		unit = "By"
	}
	m := b.at[name]
	if m == nil {
		m = &metrics.Metric{Name: name, Description: f.GetHelp(), Unit: unit}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			m.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{IsMonotonic: true,
				AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}}
		case dto.MetricType_HISTOGRAM:
			m.Data = &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{
				AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}}
		default:
			m.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{}}
		}
		b.at[name] = m
		b.all = append(b.all, m)
	}
	for _, one := range f.GetMetric() {
		b.add(m, one)
	}
}

func (b *otlpBuilder) add(m *metrics.Metric, one *dto.Metric) {
	var labels []label
	for _, p := range one.GetLabel() {
		labels = append(labels, label{p.GetName(), p.GetValue()})
	}
	number := func(v float64) *metrics.NumberDataPoint {
		return &metrics.NumberDataPoint{
			Attributes: attributes(labels), StartTimeUnixNano: b.startNs, TimeUnixNano: b.timeNs,
			Value: &metrics.NumberDataPoint_AsDouble{AsDouble: v},
		}
	}
	switch data := m.Data.(type) {
	case *metrics.Metric_Sum:
		data.Sum.DataPoints = append(data.Sum.DataPoints, number(one.GetCounter().GetValue()))
	case *metrics.Metric_Gauge:
		data.Gauge.DataPoints = append(data.Gauge.DataPoints, number(one.GetGauge().GetValue()))
	case *metrics.Metric_ExponentialHistogram:
		h := one.GetHistogram()
		data.ExponentialHistogram.DataPoints = append(data.ExponentialHistogram.DataPoints,
			&metrics.ExponentialHistogramDataPoint{
				Attributes: attributes(labels), StartTimeUnixNano: b.startNs, TimeUnixNano: b.timeNs,
				Count: h.GetSampleCount(), Sum: proto.Float64(h.GetSampleSum()), Scale: h.GetSchema(),
				ZeroCount: h.GetZeroCount(), ZeroThreshold: h.GetZeroThreshold(), Positive: exponentialBuckets(h),
			})
	}
}

// exponentialBuckets returns the buckets of a native histogram without gaps between runs. OpenTelemetry's bucket i
// starts where Prometheus' bucket i ends, so the indexes differ by one.
func exponentialBuckets(h *dto.Histogram) *metrics.ExponentialHistogramDataPoint_Buckets {
	out := &metrics.ExponentialHistogramDataPoint_Buckets{}
	count, used := int64(0), 0
	for i, run := range h.GetPositiveSpan() {
		if i == 0 {
			out.Offset = run.GetOffset() - 1
		} else {
			out.BucketCounts = append(out.BucketCounts, make([]uint64, run.GetOffset())...)
		}
		for range run.GetLength() {
			count += h.GetPositiveDelta()[used]
			used++
			out.BucketCounts = append(out.BucketCounts, uint64(count))
		}
	}
	if used == 0 {
		out.Offset = 0
	}
	return out
}
