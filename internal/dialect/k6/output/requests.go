package output

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"
	"google.golang.org/grpc/codes"

	"brunt/internal/dialect/k6/session"
	"brunt/internal/dialect/k6/trend"
	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// requests converts the requests that k6's own modules report to calls. It is used by one goroutine.
type requests struct {
	s     *session.Session
	known map[kind]request
}

// kind identifies requests that differ only in their times.
type kind struct {
	tags   *metrics.TagSet // k6 shares one set among all samples with the same tags
	failed int8            // see failedIn
}

// request is what the tags of a sample describe.
type request struct {
	call     session.Call
	scenario string
	inRun    bool // it isn't part of setup or teardown
}

// mostTags is the most tag sets that are remembered. Scripts may put a different tag on each request.
const mostTags = 10_000

// take records the request whose duration is s. failed is the result of failedIn.
func (r *requests) take(s *metrics.Sample, failed int8) {
	of := kind{s.Tags, failed}
	q, ok := r.known[of]
	if !ok {
		q = r.read(s.Metric.Name, s.Tags, failed)
		if len(r.known) >= mostTags {
			clear(r.known)
		}
		r.known[of] = q
	}
	if q.inRun {
		c := q.call
		c.End = r.s.At(s.Time)
		c.Sent = c.End - int64(s.Value*float64(time.Millisecond))
		r.s.Request(&c, vuOf(s), q.scenario)
	}
}

// vuOf returns the number of the virtual user of a sample, 0 if it isn't known.
func vuOf(s *metrics.Sample) uint64 {
	n, _ := strconv.ParseUint(s.Metadata[metrics.TagVU.String()], 10, 64)
	return n
}

func (r *requests) read(metric string, tags *metrics.TagSet, failed int8) (q request) {
	tag := func(t metrics.SystemTag) string {
		v, _ := tags.Get(t.String())
		return v
	}
	group := tag(metrics.TagGroup)
	if q.inRun = group != "::setup" && group != "::teardown"; !q.inRun {
		return q
	}
	q.scenario = tag(metrics.TagScenario)
	name := cmp.Or(tag(metrics.TagName), tag(metrics.TagURL))
	scheme, web := "grpc", metric == metrics.HTTPReqDurationName
	if web {
		scheme = "http"
		name = strings.TrimSpace(tag(metrics.TagMethod) + " " + name)
	}
	q.call.Operation, q.call.Address = r.s.Operation(cmp.Or(name, scheme)), -1
	if host := hostOf(tag(metrics.TagURL)); host != "" {
		q.call.Address = r.s.Address(scheme, host)
	}
	status, _ := strconv.Atoi(tag(metrics.TagStatus))
	q.call.Status = status
	code := tag(metrics.TagErrorCode)
	if !web && status != 0 || failed > 0 || failed == 0 && code != "" {
		q.call.Text = cmp.Or(tag(metrics.TagError), "status "+strconv.Itoa(status))
		if web {
			q.call.Class = classOf(code, status, q.call.Text, !protocol.SafeMethod(tag(metrics.TagMethod)))
		} else {
			q.call.Class = classOfCall(status)
		}
		q.call.Code = cmp.Or(code, strconv.Itoa(status))
		if by := proxyOf(tag(metrics.TagURL), q.call.Text, status); by != "" {
			q.call.Text = "the proxy " + by + ": " + q.call.Text
		}
	}
	return q
}

// proxyOf returns the address of the proxy to which a failure belongs: one that asks for a user, be it to CONNECT or to
// a request, or that can't be reached. It returns "" if none does.
func proxyOf(address, text string, status int) string {
	u, err := url.Parse(address)
	if err != nil || !strings.Contains(text, http.StatusText(http.StatusProxyAuthRequired)) &&
		!strings.Contains(text, "proxyconnect ") && (status != http.StatusProxyAuthRequired || u.Scheme != "http") {
		return ""
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.Host
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// classOf returns the class for one of k6's error codes (grafana.com/docs/k6, "Error codes") and its text. writes says
// whether the request may have changed something.
func classOf(code string, status int, text string, writes bool) protocol.Class {
	n, _ := strconv.Atoi(code)
	broke := n >= 1200 && n < 1210 || n >= 1220 && n < 1300 || n >= 1600 && n < 1700 ||
		n == 1000 && (strings.HasSuffix(text, "EOF") || strings.Contains(text, "server closed"))
	switch {
	case writes && (broke || n == 1050):
		return protocol.UnknownOutcome
	case n == 1050:
		return protocol.Timeout
	case broke, n >= 1100 && n < 1220, n >= 1300 && n < 1400:
		return protocol.Connect
	case n >= 1400 && n < 1600, n == 0 && status > 0:
		return protocol.Server
	}
	return protocol.Protocol
}

// classOfCall returns the class for a status of gRPC, as the driver of gRPC has it.
func classOfCall(status int) protocol.Class {
	switch codes.Code(status) {
	case codes.DeadlineExceeded:
		return protocol.UnknownOutcome
	case codes.Unavailable, codes.Aborted:
		return protocol.Retryable
	}
	return protocol.Server
}

// ourMetrics shows k6 the operations that modules and executors record themselves. It updates k6's sinks from the
// record's sums, without a sample for each operation.
type ourMetrics struct {
	s     *session.Session
	shown bool
	empty map[*metrics.Threshold]bool // thresholds that were made to fail, because nothing was measured
}

// first returns a sample of each metric, the first time that there is something to show.
func (m *ourMetrics) first(at time.Time, tags *metrics.TagSet) (out []metrics.Sample) {
	ours := m.s.Metrics()
	if m.shown || ours == nil || !m.s.Requested() {
		return nil
	}
	m.shown = true
	for _, metric := range []*metrics.Metric{ours.Response, ours.Service, ours.Operations, ours.Failed} {
		out = append(out, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: at})
	}
	return out
}

// fill updates k6's sinks: those with thresholds, or all of them.
func (m *ourMetrics) fill(all bool) {
	ours := m.s.Metrics()
	over := m.s.Over()
	if ours == nil || !m.s.Requested() && !over {
		return
	}
	if !all && !ruled(ours.Response, ours.Service, ours.Operations, ours.Failed) {
		return
	}
	m.s.Sums(func(total *measure.Account, names []string) {
		if over {
			m.breakEmpty(ours, total, names)
		}
		each(ours.Response, total, names,
			func(o *measure.OperationAccount, sink metrics.Sink) { fillTrend(sink, o.Response) })
		each(ours.Service, total, names, func(o *measure.OperationAccount, sink metrics.Sink) { fillTrend(sink, o.Service) })
		each(ours.Operations, total, names, func(o *measure.OperationAccount, sink metrics.Sink) {
			if c, ok := sink.(*metrics.CounterSink); ok {
				c.Value = float64(o.Done)
				if c.First.IsZero() && o.Done > 0 {
					c.First = time.Now()
				}
			}
		})
		each(ours.Failed, total, names, func(o *measure.OperationAccount, sink metrics.Sink) {
			if r, ok := sink.(*metrics.RateSink); ok && o.Done > 0 {
				r.Trues, r.Total = int64(o.Failed()), int64(o.Done)
			}
		})
	})
}

// breakEmpty makes thresholds fail if the whole load measured no value for them; k6 would let them pass. It is called
// when the load is over.
func (m *ourMetrics) breakEmpty(ours *session.Metrics, total *measure.Account, names []string) {
	for metric, values := range map[*metrics.Metric]func(*measure.OperationAccount) uint64{
		ours.Response:   func(o *measure.OperationAccount) uint64 { return o.Response.Count() },
		ours.Service:    func(o *measure.OperationAccount) uint64 { return o.Service.Count() },
		ours.Operations: func(o *measure.OperationAccount) uint64 { return o.Done },
		ours.Failed:     func(o *measure.OperationAccount) uint64 { return o.Done },
	} {
		if all := total.All(); metric != ours.Operations && values(&all) == 0 {
			m.breakAll(metric)
		}
		for _, sub := range metric.Submetrics {
			n := uint64(0)
			for i := range total.Operations {
				if i < len(names) && matches(sub.Tags, names[i]) {
					n += values(&total.Operations[i])
				}
			}
			if n == 0 {
				m.breakAll(sub.Metric)
			}
		}
	}
}

// breakAll gives all thresholds of a metric a condition that is false without values.
func (m *ourMetrics) breakAll(metric *metrics.Metric) {
	never := "max<0"
	switch sink := metric.Sink.(type) {
	case *metrics.CounterSink:
		never = "count<0"
	case *metrics.RateSink:
		never, sink.Total = "rate<0", 1 // k6 doesn't judge a rate without values
	}
	for _, t := range metric.Thresholds.Thresholds {
		if m.empty[t] {
			continue
		}
		broken := metrics.NewThresholds([]string{never})
		if broken.Parse() != nil {
			continue
		}
		source := t.Source
		*t = *broken.Thresholds[0]
		t.Source = source
		if m.empty == nil {
			m.empty = map[*metrics.Threshold]bool{}
		}
		m.empty[t] = true
	}
}

// ruled reports whether any of the metrics, or a submetric, has thresholds.
func ruled(all ...*metrics.Metric) bool {
	for _, m := range all {
		if len(m.Thresholds.Thresholds) > 0 {
			return true
		}
		for _, sub := range m.Submetrics {
			if len(sub.Metric.Thresholds.Thresholds) > 0 {
				return true
			}
		}
	}
	return false
}

// each calls f for a metric, and for each submetric with the operations that match its tags.
func each(m *metrics.Metric, total *measure.Account, names []string, f func(*measure.OperationAccount, metrics.Sink)) {
	all := total.All()
	f(&all, m.Sink)
	for _, sub := range m.Submetrics {
		var part measure.OperationAccount
		for i := range total.Operations {
			if i < len(names) && matches(sub.Tags, names[i]) {
				part.Add(&total.Operations[i])
			}
		}
		f(&part, sub.Metric.Sink)
	}
}

// matches reports whether tags select the operation and nothing else.
func matches(tags *metrics.TagSet, operation string) bool {
	want := tags.Map()
	return len(want) == 1 && want[session.TagOperation] == operation
}

func fillTrend(sink metrics.Sink, h *measure.Histogram) {
	t, ok := sink.(*metrics.TrendSink)
	if !ok {
		return
	}
	const ms = float64(time.Millisecond)
	trend.Fill(t, trend.Distribution{
		N: h.Count(), Min: float64(h.Min()) / ms, Max: float64(h.Max()) / ms, Sum: h.Sum() / ms,
		Each: func(f func(lo, hi float64, n uint64)) {
			h.Each(func(lo, hi int64, n uint64) bool {
				f(float64(lo)/ms, float64(hi)/ms, n)
				return true
			})
		},
	})
}
