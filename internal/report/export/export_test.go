package export

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// testRun returns the record of a run with two operations and one address.
func testRun() *record.Run {
	return &record.Run{
		Name: "shop, big one", ID: "00ff00ff00ff00ff", Brunt: "1.0",
		Operations: []record.Operation{{Name: "buy"}, {Name: "look around"}},
		Targets:    []record.Target{{Address: "127.0.0.1:5432", Protocol: "pgwire"}},
	}
}

// testInterval returns the n-th second: 100 purchases of n+1 … n+90 ms, of which 10 time out, and no other operation.
func testInterval(n int, began time.Time) *measure.Interval {
	h := func() *measure.Histogram { return measure.NewHistogram() }
	iv := &measure.Interval{Index: n, UnixNs: began.Add(time.Duration(n) * time.Second).UnixNano(), Phase: "load",
		Account: measure.Account{StartNs: int64(n) * 1e9, EndNs: int64(n+1) * 1e9, Sessions: 8, Busy: 3, Backlog: 2,
			Offered: 100, Operations: []measure.OperationAccount{
				{Response: h(), Service: h(), Lag: h(), FailedResponse: h()},
				{Response: h(), Service: h(), Lag: h(), FailedResponse: h()},
			}, Addresses: []measure.AddressAccount{{Service: h(), Up: 8}},
			Health: measure.Health{ProcessCPU: 0.5, LoopBusy: 0.25,
				RSSBytes: 1 << 20, GCCycles: 1, StealNs: 5e8, OthersNs: 2e9}}}
	o := &iv.Operations[0]
	o.Done, o.Attempts, o.Errors[protocol.Timeout] = 100, 105, 10
	for k := 1; k <= 90; k++ {
		ns := int64(k+n) * 1e6
		o.Response.Record(ns)
		o.Service.Record(ns / 2)
		o.Lag.Record(0)
		iv.Addresses[0].Service.Record(ns / 2)
	}
	iv.Addresses[0].Counts = o.Counts
	return iv
}

func exporter(t *testing.T, o Options) *Exporter {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(nil) })
	e.Start(testRun())
	return e
}

// get reads metrics as Prometheus does.
func get(t *testing.T, e *Exporter, accept string) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+e.Addr()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	decoder := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header))
	out := map[string]*dto.MetricFamily{}
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out[f.GetName()] = &f
	}
}

// value returns the value of the series with these labels.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		fits := true
		for i := 0; i < len(labels); i += 2 {
			fits = fits && slices.ContainsFunc(m.GetLabel(), func(p *dto.LabelPair) bool {
				return p.GetName() == labels[i] &&
					p.GetValue() == labels[i+1]
			})
		}
		if fits {
			return m
		}
	}
	t.Fatalf("no %s with %q", name, labels)
	return nil
}

const acceptProtobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

// A load of workers says how many there are, and what each does.
func TestWorkersAreExported(t *testing.T) {
	e := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	iv := testInterval(0, time.Now())
	iv.Workers = []measure.Worker{{Name: "1 (a)", DonePerS: 120, LagMaxNs: 5e6}, {Name: "2 (b)", Lost: true}}
	if err := e.Interval(iv); err != nil {
		t.Fatal(err)
	}
	m := get(t, e, "text/plain")
	for _, c := range []struct {
		name, label, of string
		want            float64
	}{
		{"brunt_workers", "state", "sending", 1}, {"brunt_workers", "state", "lost", 1},
		{"brunt_worker_operations_per_second", "worker", "1 (a)", 120},
		{"brunt_worker_lag_max_seconds", "worker", "1 (a)", 0.005},
		{"brunt_worker_operations_per_second", "worker", "2 (b)", 0},
	} {
		if got := value(t, m, c.name, c.label, c.of).GetGauge().GetValue(); got != c.want {
			t.Errorf("%s of %s is %v, want %v", c.name, c.of, got, c.want)
		}
	}
}

// The times of streams' messages are exported of the operations that have some.
func TestStreamsAreExported(t *testing.T) {
	e := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	for n := range 2 {
		iv := testInterval(n, time.Now())
		iv.Operations[0].StreamFirst, iv.Operations[0].StreamBetween = measure.NewHistogram(), measure.NewHistogram()
		iv.Operations[0].StreamFirst.RecordN(2e9, 3)
		iv.Operations[0].StreamBetween.RecordN(1e9, 5)
		if err := e.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	m := get(t, e, "text/plain")
	for name, want := range map[string][2]float64{
		"brunt_stream_first_seconds": {6, 12}, "brunt_stream_between_seconds": {10, 10},
	} {
		h := value(t, m, name, "operation", "buy").GetHistogram()
		if float64(h.GetSampleCount()) != want[0] || h.GetSampleSum() != want[1] || len(m[name].GetMetric()) != 1 {
			t.Errorf("%s: %v", name, m[name])
		}
	}
}

func TestEndpoint(t *testing.T) {
	e := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	for n := range 3 {
		if err := e.Interval(testInterval(n, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	for _, accept := range []string{"text/plain", acceptProtobuf} {
		m := get(t, e, accept)
		for _, c := range []struct {
			name   string
			labels []string
			want   float64
		}{
			{"requests", nil, 300},
			{"successes", nil, 270},
			{"brunt_operations_total", []string{"operation", "buy", "outcome", "ok"}, 270},
			{"brunt_operations_total", []string{"operation", "buy", "outcome", "timeout"}, 30},
			{"brunt_operations_total", []string{"operation", "look around", "outcome", "ok"}, 0},
			{"brunt_address_operations_total", []string{"address", "127.0.0.1:5432", "outcome", "ok"}, 270},
			{"brunt_attempts_total", []string{"operation", "buy"}, 315},
			{"brunt_offered_total", nil, 300},
			{"brunt_generator_gc_cycles_total", nil, 3},
			{"brunt_generator_steal_seconds_total", nil, 1.5},
			{"brunt_generator_others_cpu_seconds_total", nil, 6},
		} {
			if got := value(t, m, c.name, c.labels...).GetCounter().GetValue(); got != c.want {
				t.Errorf("%s: %s %q is %v, want %v", accept, c.name, c.labels, got, c.want)
			}
		}
		for name, want := range map[string]float64{"brunt_sessions": 8, "brunt_sessions_busy": 3, "brunt_backlog": 2,
			"brunt_generator_cpu_cores": 0.5} {
			if got := value(t, m, name).GetGauge().GetValue(); got != want {
				t.Errorf("%s: %s is %v, want %v", accept, name, got, want)
			}
		}
		// Those of the last interval are 3 … 92 ms.
		if got := value(t, m, "brunt_interval_response_seconds", "operation", "buy", "quantile",
			"0.5").GetGauge().GetValue(); math.Abs(got-0.047) > 1e-4 {
			t.Errorf("%s: median %v, want 0.047", accept, got)
		}
		h := value(t, m, "brunt_response_seconds", "operation", "buy").GetHistogram()
		wantSum := 0.001 * (3*90*91/2 + 90*3)
		if h.GetSampleCount() != 270 || math.Abs(h.GetSampleSum()-wantSum) > 1e-9 {
			t.Errorf("%s: %d values of %v s, want 270 of %v", accept, h.GetSampleCount(), h.GetSampleSum(), wantSum)
		}
		below := func(le float64) uint64 {
			for _, b := range h.GetBucket() {
				if b.GetUpperBound() == le {
					return b.GetCumulativeCount()
				}
			}
			t.Fatalf("%s: no bucket of %v s", accept, le)
			return 0
		}
		if below(0.05) < 146 || below(0.05) > 148 || below(0.1) != 270 || below(0.0005) != 0 {
			t.Errorf("%s: %d up to 50 ms, %d up to 100 ms", accept, below(0.05), below(0.1))
		}
		if native := len(h.GetPositiveSpan()) > 0; native != (accept == acceptProtobuf) {
			t.Errorf("%s: native buckets: %v", accept, native)
		}
	}
}

func TestNativeBucketsHoldWhatTheirBoundsSay(t *testing.T) {
	l := newLadders()
	r := rand.New(rand.NewPCG(1, 2))
	h := measure.NewHistogram()
	want := map[int]uint64{}
	for range 20000 {
		ns := int64(math.Exp(r.Float64() * math.Log(2000))) // the histogram is exact below 2048
		h.Record(ns)
		want[int(math.Ceil(8*math.Log2(float64(ns)/1e9)-1e-12))]++
	}
	h.Record(0)
	d := l.compact(h)
	if d.zero != 1 || d.count != 20001 {
		t.Errorf("%d zeros of %d", d.zero, d.count)
	}
	got := map[int]uint64{}
	for _, s := range d.native {
		got[s.Index+nativeFirst] = s.N
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for i, q := range pointQuantiles() {
		if d.quantiles[i] != h.Quantile(q) {
			t.Errorf("quantile %v: %d, want %d", q, d.quantiles[i], h.Quantile(q))
		}
	}
	var sum distribution
	sum.add(&d)
	runs, deltas := spans(sum.native)
	at, n, k := 0, int64(0), 0
	for _, run := range runs {
		at += int(run.GetOffset())
		for range run.GetLength() {
			n += deltas[k]
			if uint64(n) != want[at] {
				t.Errorf("bucket %d: %d, want %d", at, n, want[at])
			}
			at++
			k++
		}
	}
}

// The bounds are those in slow_cooker's documentation.
func TestSlowCookersBounds(t *testing.T) {
	e := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	_ = e.Interval(testInterval(0, time.Now()))
	m := get(t, e, "text/plain")
	for name, c := range map[string]struct{ first, factor, sum float64 }{
		"latency_ms": {0.5, 1.3, 4095}, "latency_us": {1, 1.35, 4095e3}, "latency_ns": {1, 1.5, 4095e6},
	} {
		h := value(t, m, name).GetHistogram()
		finite := slices.DeleteFunc(h.GetBucket(), func(b *dto.Bucket) bool { return math.IsInf(b.GetUpperBound(), 1) })
		if len(finite) != 50 || h.GetSampleCount() != 90 || math.Abs(h.GetSampleSum()/c.sum-1) > 1e-9 {
			t.Errorf("%s: %d buckets, %d values, sum %v", name, len(finite), h.GetSampleCount(), h.GetSampleSum())
		}
		for k, b := range finite {
			if want := c.first * math.Pow(c.factor, float64(k)); math.Abs(b.GetUpperBound()/want-1) > 1e-9 {
				t.Errorf("%s: bound %d is %v, want %v", name, k, b.GetUpperBound(), want)
			}
		}
	}
}

// receiver is a server whose answers the test sets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	status int
	heads  []http.Header
	paths  []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status/100 == 2 {
			r.bodies = append(r.bodies, body)
			r.heads = append(r.heads, q.Header.Clone())
			r.paths = append(r.paths, q.URL.String())
		}
		w.WriteHeader(r.status)
		if r.status/100 != 2 {
			fmt.Fprint(w, "because\nof this")
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) set(status int) {
	r.mu.Lock()
	r.status = status
	r.mu.Unlock()
}

// lines returns the number of intervals in line protocol that have arrived.
func (r *receiver) lines() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bodies {
		n += bytes.Count(b, []byte("brunt_load,"))
	}
	return n
}

// quickly limits the pauses of the pushers to a few ms.
func quickly(e *Exporter) {
	for _, p := range e.pushers {
		p.pause = func(int) time.Duration { return 5 * time.Millisecond }
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func newQuick(t *testing.T, o Options) *Exporter {
	t.Helper()
	o.Getenv = func(string) string { return "" }
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	quickly(e)
	e.Start(testRun())
	return e
}

func TestNothingIsLostWhileAServerIsDownForAWhile(t *testing.T) {
	r := newReceiver(t)
	r.set(http.StatusServiceUnavailable)
	e := newQuick(t, Options{Destinations: []string{"influx=" + r.URL + "/db"}})
	for n := range 100 {
		_ = e.Interval(testInterval(n, time.Now()))
	}
	waitFor(t, "a failed attempt", func() bool { return e.pushers[0].transfer().reason != "" })
	r.set(http.StatusNoContent)
	waitFor(t, "all intervals", func() bool { return r.lines() == 100 })
	if w := e.Close(nil); len(w) != 0 {
		t.Errorf("warnings %+v", w)
	}
	if got := e.pushers[0].transfer(); got.sent != 100 || got.lost != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestIntervalsBeyondTheBufferAreCountedAsLost(t *testing.T) {
	r := newReceiver(t)
	r.set(http.StatusServiceUnavailable)
	e := newQuick(t, Options{MetricsAddr: "127.0.0.1:0", Destinations: []string{"influx=" + r.URL + "/db"},
		BufferBytes: 100 << 10})
	const all = 500
	for n := range all {
		_ = e.Interval(testInterval(n, time.Now()))
	}
	p := e.pushers[0]
	lost := p.transfer().lost
	if p.bytes > p.bound || lost == 0 || lost == all {
		t.Errorf("%d bytes wait, bound %d; %d lost", p.bytes, p.bound, lost)
	}
	live := value(t, get(t, e, "text/plain"), "brunt_export_lost_intervals_total", "destination",
		p.to.name()).GetCounter().GetValue()
	if live != float64(lost) {
		t.Errorf("the metric says %v, %d are lost", live, lost)
	}
	r.set(http.StatusNoContent)
	w := e.Close(nil)
	if r.lines()+int(lost) != all {
		t.Errorf("%d came, %d lost, of %d", r.lines(), lost, all)
	}
	if len(w) != 1 || w[0].ID != "export-lost" ||
		!strings.Contains(w[0].Text.String(), fmt.Sprintf("%d of %d", lost, all)) {
		t.Errorf("warnings %+v", w)
	}
}

func TestRefusedIntervalsAreLostAtOnce(t *testing.T) {
	r := newReceiver(t)
	r.set(http.StatusUnauthorized)
	e := newQuick(t, Options{Destinations: []string{"prometheus=" + strings.Replace(r.URL, "//", "//me:geheim@", 1)}})
	_ = e.Interval(testInterval(0, time.Now()))
	waitFor(t, "the refusal", func() bool { return e.pushers[0].transfer().lost == 1 })
	w := e.Close(nil)
	if len(w) != 1 || !strings.Contains(w[0].Text.String(), "401") ||
		!strings.Contains(w[0].Text.String(), "because of this") || strings.Contains(fmt.Sprint(w), "geheim") {
		t.Errorf("warnings %+v", w)
	}
}

// A receiver that accepts requests and never answers delays neither intervals nor the end of the run beyond a limit.
func TestHangingReceiverDelaysNothing(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	e := newQuick(t, Options{Destinations: []string{"otlp=" + server.URL}})
	_ = e.Interval(testInterval(0, time.Now()))
	<-entered
	for n := 1; n < 300; n++ {
		_ = e.Interval(testInterval(n, time.Now()))
	}
	// All of this happened while the first request hangs.
	if got := e.pushers[0].transfer(); got.sent != 0 || got.waiting != 300 {
		t.Errorf("got %+v", got)
	}
	p := e.pushers[0]
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.finish(ctx)
	if got := p.transfer(); got.lost != 300 || got.waiting != 0 {
		t.Errorf("after the end: %+v", got)
	}
}

// Counters that are sent remain correct although some intervals were dropped.
func TestSumsHoldWhatWasDropped(t *testing.T) {
	l := newLadders()
	rec := &recording{}
	p := newPusher(rec, http.DefaultClient)
	p.bound = 1
	all := measure.NewHistogram()
	for n := range 10 {
		p.add(newPoint(testInterval(n, time.Now()), l, all))
	}
	batch, _ := p.take()
	if len(batch) != 1 {
		t.Fatalf("%d wait, want the last", len(batch))
	}
	p.before.add(batch[0])
	want := &point{}
	for n := range 10 {
		want.add(newPoint(testInterval(n, time.Now()), l, all))
	}
	if fmt.Sprint(*p.before) != fmt.Sprint(*want) {
		t.Errorf("got %+v\nwant %+v", *p.before, *want)
	}
}

type recording struct{}

func (*recording) name() string                                           { return "test" }
func (*recording) encode(*names, []*point, *point) ([]byte, error)        { return nil, nil }
func (*recording) request(context.Context, []byte) (*http.Request, error) { return nil, io.EOF }
func (*recording) accepted([]byte) error                                  { return nil }

func TestDestinationsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"http://me:geheim@h/x":                          "no kind",
		"graphite=http://me:geheim@h":                   "no kind of destination",
		"influx=me:geheim@h":                            "http or https",
		"influx=http://me:geheim@h":                     "name a database",
		"influx=http://me:geheim@h?bucket=b":            "organisation",
		"otlp=grpc://me:geheim@h:4317":                  "http or https",
		"prometheus=http://me:geheim@h:bad/api/v1/push": "http or https",
	} {
		_, err := New(Options{Destinations: []string{text}, Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	busy := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	if _, err := New(Options{MetricsAddr: busy.Addr()}); err == nil || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("an address in use: %v", err)
	}
}

func TestRequestsCarrySecretsFromTheEnvironment(t *testing.T) {
	r := newReceiver(t)
	env := map[string]string{"INFLUX_TOKEN": "tok", "BRUNT_PROMETHEUS_TOKEN": "bear",
		"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, x=y"}
	e, err := New(Options{
		Destinations: []string{"influx=" + r.URL + "?org=o&bucket=b", "prometheus=" + r.URL, "otlp=" + r.URL},
		Getenv:       func(name string) string { return env[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Start(testRun())
	_ = e.Interval(testInterval(0, time.Now()))
	if w := e.Close(nil); len(w) != 0 {
		t.Fatalf("warnings %+v", w)
	}
	got := map[string]http.Header{}
	for i, p := range r.paths {
		got[p] = r.heads[i]
	}
	for path, header := range map[string][2]string{
		"/api/v2/write?bucket=b&org=o&precision=ns": {"Authorization", "Token tok"},
		"/api/v1/write": {"Authorization", "Bearer bear"},
		"/v1/metrics":   {"Api-Key", "a b"},
	} {
		if got[path] == nil || got[path].Get(header[0]) != header[1] {
			t.Errorf("%s: got %v among %q, want %s: %s", path, got[path], r.paths, header[0], header[1])
		}
	}
}

func TestMetricsFollowNamingRules(t *testing.T) {
	l := newLadders()
	p := newPoint(testInterval(0, time.Now()), l, measure.NewHistogram())
	s := &point{}
	s.add(p)
	for _, f := range build(l, &names{}, s, p, nil) {
		if !model.LegacyValidation.IsValidMetricName(f.GetName()) || f.GetHelp() == "" {
			t.Errorf("%s: %q", f.GetName(), f.GetHelp())
		}
		if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(f.GetName(), "_total") {
			t.Errorf("%s is a %v", f.GetName(), f.GetType())
		}
	}
}

// Names and phases in an interval may contain any characters.
func FuzzLineProtocol(f *testing.F) {
	f.Add("shop, big=one\\", "a\nb")
	f.Fuzz(func(t *testing.T, run, operation string) {
		d := &influx{}
		p := newPoint(testInterval(0, time.Unix(1, 0)), newLadders(), measure.NewHistogram())
		body, err := d.encode(&names{run: run, operations: []string{operation}}, []*point{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines: %q", len(lines), body)
		}
		for _, line := range lines {
			unescaped := strings.NewReplacer(`\ `, "_", `\,`, "_", `\=`, "_").Replace(line)
			if n := strings.Count(unescaped, " "); n != 2 {
				t.Errorf("%d parts: %q", n+1, line)
			}
		}
	})
}
