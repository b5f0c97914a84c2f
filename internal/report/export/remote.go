package export

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/golang/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// remote writes Prometheus' remote-write protocol 1.0 (see its specification and the messages of prompb). Each
// interval's metrics become samples at the end of the interval; histograms have classic buckets.
type remote struct {
	endpoint
	ladders *ladders
}

// newRemote parses http://HOST:9090; the default path is /api/v1/write.
func newRemote(u *url.URL, getenv func(string) string, l *ladders) destination {
	d := &remote{newEndpoint("prometheus", u, "/api/v1/write"), l}
	d.headers = []label{{"Content-Type", "application/x-protobuf"}, {"Content-Encoding", "snappy"},
		{"X-Prometheus-Remote-Write-Version", "0.1.0"}}
	if token := getenv("BRUNT_PROMETHEUS_TOKEN"); token != "" {
		d.headers = append(d.headers, label{"Authorization", "Bearer " + token})
	}
	return d
}

func (d *remote) encode(n *names, points []*point, before *point) ([]byte, error) {
	var w writeRequest
	for _, p := range points {
		before.add(p)
		w.common = []label{{"job", "brunt"}, {"instance", n.id}}
		w.atMs = p.unixNs / 1e6
		for _, f := range build(d.ladders, n, before, p, nil) {
			w.family(f)
		}
	}
	return snappy.Encode(nil, w.out), nil
}

// writeRequest encodes a WriteRequest message. Field 1 holds the series. A series has labels (field 1, with name in
// 1 and value in 2), which must be sorted by name, and samples (field 2, with the value in 1 and the timestamp in
// ms in 2).
type writeRequest struct {
	out    []byte
	common []label
	atMs   int64
	series []byte
	inner  []byte
}

func (w *writeRequest) family(f *dto.MetricFamily) {
	name := f.GetName()
	for _, m := range f.GetMetric() {
		switch {
		case m.Counter != nil:
			w.sample(name, m.GetLabel(), "", m.Counter.GetValue())
		case m.Gauge != nil:
			w.sample(name, m.GetLabel(), "", m.Gauge.GetValue())
		case m.Histogram != nil:
			h := m.Histogram
			for _, b := range h.GetBucket() {
				w.sample(name+"_bucket", m.GetLabel(), strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64),
					float64(b.GetCumulativeCount()))
			}
			w.sample(name+"_bucket", m.GetLabel(), "+Inf", float64(h.GetSampleCount()))
			w.sample(name+"_sum", m.GetLabel(), "", h.GetSampleSum())
			w.sample(name+"_count", m.GetLabel(), "", float64(h.GetSampleCount()))
		}
	}
}

func (w *writeRequest) sample(name string, pairs []*dto.LabelPair, le string, value float64) {
	labels := append([]label{{"__name__", name}}, w.common...)
	for _, p := range pairs {
		if p.GetValue() != "" { // an empty value means that the label doesn't exist
			labels = append(labels, label{p.GetName(), strings.ToValidUTF8(p.GetValue(), "\ufffd")})
		}
	}
	if le != "" {
		labels = append(labels, label{"le", le})
	}
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	w.series = w.series[:0]
	for _, l := range labels {
		w.inner = protowire.AppendString(protowire.AppendTag(w.inner[:0], 1, protowire.BytesType), l.name)
		w.inner = protowire.AppendString(protowire.AppendTag(w.inner, 2, protowire.BytesType), l.value)
		w.series = protowire.AppendBytes(protowire.AppendTag(w.series, 1, protowire.BytesType), w.inner)
	}
	w.inner = protowire.AppendFixed64(protowire.AppendTag(w.inner[:0], 1, protowire.Fixed64Type), math.Float64bits(value))
	w.inner = protowire.AppendVarint(protowire.AppendTag(w.inner, 2, protowire.VarintType), uint64(w.atMs))
	w.series = protowire.AppendBytes(protowire.AppendTag(w.series, 2, protowire.BytesType), w.inner)
	w.out = protowire.AppendBytes(protowire.AppendTag(w.out, 1, protowire.BytesType), w.series)
}
