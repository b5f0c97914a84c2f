package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"brunt/test/testserver"
)

// fetch reads JSON from an address.
func fetch(t *testing.T, address string, into any) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", address, answer.Status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v: %s", address, err, body)
	}
}

// query asks a server with Prometheus' API for a number at a time. ok is false if there is none.
func query(t *testing.T, s *testserver.Server, expression string, at time.Time) (n float64, ok bool) {
	t.Helper()
	var got struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	fetch(t, "http://"+s.Addr+"/api/v1/query?"+url.Values{
		"query": {expression}, "time": {strconv.FormatFloat(float64(at.UnixMilli())/1e3, 'f', 3, 64)},
	}.Encode(), &got)
	if len(got.Data.Result) != 1 {
		return 0, false
	}
	n, err := strconv.ParseFloat(fmt.Sprint(got.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

// checkSeries checks the data of 60 intervals up to end on a server.
func checkSeries(t *testing.T, s *testserver.Server, end time.Time) {
	t.Helper()
	for expression, want := range map[string]float64{
		`brunt_operations_total{operation="buy",outcome="ok"}`:                                  5400,
		`brunt_operations_total{operation="buy",outcome="timeout"}`:                             600,
		`count_over_time(brunt_sessions[60s])`:                                                  60,
		`increase(brunt_operations_total{operation="buy",outcome="ok"}[30s])`:                   2700,
		`brunt_response_seconds_count{operation="buy"}`:                                         5400,
		`brunt_backlog{job="brunt",instance="00ff00ff00ff00ff"}`:                                2,
		`brunt_address_sessions{address="127.0.0.1:5432"}`:                                      8,
		`brunt_response_seconds_bucket{operation="buy",le="+Inf"}`:                              5400,
		`histogram_quantile(0.5, sum by (le) (brunt_response_seconds_bucket{operation="buy"}))`: 0.075,
	} {
		got, ok := query(t, s, expression, end)
		// The median is only as exact as the classic buckets, and increase extrapolates.
		if tolerance := map[bool]float64{true: 0.3, false: 0.04}[strings.HasPrefix(expression, "histogram")]; !ok ||
			math.Abs(got/want-1) > tolerance {
			t.Errorf("%s is %v (%v), want %v", expression, got, ok, want)
		}
	}
}

func TestRemoteWriteToPrometheus(t *testing.T) {
	s := testserver.Prometheus(t)
	e := exporter(t, Options{Destinations: []string{"prometheus=http://" + s.Addr}})
	began := time.Now().Add(-60 * time.Second).Truncate(time.Second)
	for n := range 60 {
		_ = e.Interval(testInterval(n, began))
	}
	if w := e.Close(nil); len(w) != 0 {
		t.Fatalf("warnings %+v", w)
	}
	checkSeries(t, s, began.Add(60*time.Second))
}

// VictoriaMetrics implements the same protocol independently.
func TestRemoteWriteToVictoriaMetrics(t *testing.T) {
	s := testserver.VictoriaMetrics(t)
	e := exporter(t, Options{Destinations: []string{"prometheus=http://" + s.Addr}})
	began := time.Now().Add(-60 * time.Second).Truncate(time.Second)
	for n := range 60 {
		_ = e.Interval(testInterval(n, began))
	}
	if w := e.Close(nil); len(w) != 0 {
		t.Fatalf("warnings %+v", w)
	}
	waitFor(t, "the samples to be searchable", func() bool {
		n, ok := query(t, s, `brunt_operations_total{operation="buy",outcome="ok"}`, began.Add(60*time.Second))
		return ok && n == 5400
	})
	checkSeries(t, s, began.Add(60*time.Second))
}

// A Prometheus that is killed and restarted has all data at the end.
func TestRemoteWriteSurvivesARestart(t *testing.T) {
	s := testserver.Prometheus(t)
	e := newQuick(t, Options{Destinations: []string{"prometheus=http://" + s.Addr}})
	began := time.Now().Add(-60 * time.Second).Truncate(time.Second)
	for n := range 60 {
		switch n {
		case 20:
			waitFor(t, "the first intervals", func() bool { return e.pushers[0].transfer().sent == 20 })
			s.Kill()
		case 40:
			waitFor(t, "a failed attempt", func() bool { return e.pushers[0].transfer().reason != "" })
			s.Restart()
		}
		_ = e.Interval(testInterval(n, began))
	}
	waitFor(t, "all intervals", func() bool { return e.pushers[0].transfer().sent == 60 })
	if w := e.Close(nil); len(w) != 0 {
		t.Errorf("warnings %+v", w)
	}
	checkSeries(t, s, began.Add(60*time.Second))
}

// Prometheus scrapes native histograms from the endpoint. Their quantiles are exact to 9 %.
func TestPrometheusScrapesNativeHistograms(t *testing.T) {
	e := exporter(t, Options{MetricsAddr: "127.0.0.1:0"})
	_ = e.Interval(testInterval(0, time.Now()))
	s := testserver.Prometheus(t, testserver.Settings(
		"scrape_configs:", "  - job_name: brunt", "    static_configs:", "      - targets: ['"+e.Addr()+"']",
	))
	waitFor(t, "a scrape", func() bool {
		n, ok := query(t, s, `brunt_sessions`, time.Now())
		return ok && n == 8
	})
	got, ok := query(t, s, `histogram_quantile(0.5, brunt_response_seconds{operation="buy"})`, time.Now())
	if !ok || math.Abs(got/0.045-1) > 0.09 {
		t.Errorf("median %v (%v), want 0.045", got, ok)
	}
	if n, ok := query(t, s, `histogram_count(brunt_response_seconds{operation="buy"})`, time.Now()); !ok || n != 90 {
		t.Errorf("%v values (%v), want 90", n, ok)
	}
	if n, ok := query(t, s, `successes`, time.Now()); !ok || n != 90 {
		t.Errorf("%v successes (%v), want 90", n, ok)
	}
}

func TestInfluxDB(t *testing.T) {
	s := testserver.InfluxDB(t)
	answer, err := http.PostForm("http://"+s.Addr+"/query", url.Values{"q": {"CREATE DATABASE load"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for _, address := range []string{"/load", "/write?db=load"} {
		e := exporter(t, Options{Destinations: []string{"influx=http://" + s.Addr + address}})
		began := time.Unix(1_800_000_000, 0)
		for n := range 60 {
			_ = e.Interval(testInterval(n, began))
		}
		if w := e.Close(nil); len(w) != 0 {
			t.Fatalf("%s: warnings %+v", address, w)
		}
		var got struct {
			Results []struct {
				Series []struct{ Values [][]any }
			}
		}
		fetch(t, "http://"+s.Addr+"/query?"+url.Values{"db": {"load"}, "q": {
			`SELECT sum(done), sum(ok), sum(failed_timeout), max(response_p99_ns), count(service_p999_ns) FROM brunt WHERE operation = 'buy' AND run = 'shop, big one'`,
		}}.Encode(), &got)
		if len(got.Results) != 1 || len(got.Results[0].Series) != 1 {
			t.Fatalf("%s: got %+v", address, got)
		}
		v := got.Results[0].Series[0].Values[0]
		// The second address sends the same points again, which changes nothing.
		p99, _ := v[4].(float64)
		if fmt.Sprint(v[1], v[2], v[3], v[5]) != "6000 5400 600 60" || math.Abs(p99/149e6-1) > 1e-3 {
			t.Errorf("%s: got %v", address, v)
		}
	}
	e := newQuick(t, Options{Destinations: []string{"influx=http://" + s.Addr + "/nowhere"}})
	_ = e.Interval(testInterval(0, time.Now()))
	if w := e.Close(nil); len(w) != 1 || !strings.Contains(w[0].Text.String(), "database not found") {
		t.Errorf("a missing database: %+v", w)
	}
}

// The requests are decoded with OpenTelemetry's own messages.
func TestOTLP(t *testing.T) {
	r := newReceiver(t)
	r.set(http.StatusOK)
	e := newQuick(t, Options{Destinations: []string{"otlp=" + r.URL}})
	began := time.Unix(1_800_000_000, 0)
	for n := range 3 {
		_ = e.Interval(testInterval(n, began))
	}
	if w := e.Close(nil); len(w) != 0 {
		t.Fatalf("warnings %+v", w)
	}
	all := map[string][]*metrics.Metric{}
	for _, body := range r.bodies {
		var request collector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		if n := request.ResourceMetrics[0].Resource.Attributes[0].Value.GetStringValue(); n != "brunt" {
			t.Errorf("service %q", n)
		}
		for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			all[m.Name] = append(all[m.Name], m)
		}
	}
	var last *metrics.NumberDataPoint
	for _, m := range all["brunt_operations_total"] {
		if !m.GetSum().IsMonotonic {
			t.Error("a counter isn't monotonic")
		}
		for _, p := range m.GetSum().DataPoints {
			if p.Attributes[0].Value.GetStringValue() == "buy" && p.Attributes[1].Value.GetStringValue() == "ok" {
				last = p
			}
		}
	}
	if last.GetAsDouble() != 270 || last.StartTimeUnixNano != uint64(began.UnixNano()) ||
		last.TimeUnixNano != uint64(began.Add(3*time.Second).UnixNano()) {
		t.Errorf("got %v", last)
	}
	checkExponential(t, all["brunt_response_seconds"])
}

// checkExponential checks the last histogram of purchases: 1 … 92 ms.
func checkExponential(t *testing.T, all []*metrics.Metric) {
	t.Helper()
	var h *metrics.ExponentialHistogramDataPoint
	for _, m := range all {
		for _, p := range m.GetExponentialHistogram().DataPoints {
			if p.Attributes[0].Value.GetStringValue() == "buy" {
				h = p
			}
		}
	}
	sum := uint64(0)
	base := math.Exp2(math.Exp2(-float64(h.Scale)))
	for i, n := range h.Positive.BucketCounts {
		lower := math.Pow(base, float64(int(h.Positive.Offset)+i))
		if n > 0 && (lower*base < 0.001 || lower > 0.0921) {
			t.Errorf("%d values from %v s on", n, lower)
		}
		sum += n
	}
	if h.Count != 270 || sum != 270 || h.GetSum() <= 0 {
		t.Errorf("%d values, %d in buckets, sum %v", h.Count, sum, h.GetSum())
	}
}

// A collector may answer with success and still reject data.
func TestOTLPPartialSuccess(t *testing.T) {
	body, err := proto.Marshal(&collector.ExportMetricsServiceResponse{
		PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 7, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	d := &otlp{}
	if err := d.accepted(body); err == nil || !strings.Contains(err.Error(), "7 data points: too old") {
		t.Errorf("got %v", err)
	}
	if err := d.accepted(nil); err != nil {
		t.Errorf("an empty answer: %v", err)
	}
}
