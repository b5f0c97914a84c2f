package observe

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

func TestSeriesKeepsSumsInBoundedMemory(t *testing.T) {
	var s series
	n := 5*mostPoints + 123
	sum := 0.0
	for i := range n {
		s.add(float64(i))
		sum += float64(i)
		if len(s.points) > mostPoints {
			t.Fatalf("%d points after %d samples", len(s.points), i+1)
		}
	}
	var have point
	for i, p := range s.points {
		if i == 0 {
			have = p
		} else {
			have = have.with(p)
		}
	}
	want := point{uint64(n), sum, 0, float64(n - 1)}
	if have != want || s.all != want || s.first != 0 || s.last != float64(n-1) {
		t.Errorf("points %+v, all %+v, want %+v", have, s.all, want)
	}
	means := s.means()
	for i := 1; i < len(means); i++ {
		if means[i] <= means[i-1] {
			t.Fatalf("the order is lost at point %d", i)
		}
	}
}

func TestParseRefusesWithAHint(t *testing.T) {
	for text, want := range map[string]string{
		"4711":                               "kind:what",
		"pid:x":                              "not the number",
		"pid:-1":                             "not the number",
		"pid:999999999":                      "ended",
		"hosts:x":                            "can't be watched",
		"node:ftp://h/x":                     "http or https",
		"url:ftp://h/x":                      "http or https",
		"url:http://":                        "http or https",
		"url:http://u:geheim@h:bad port/x":   "malformed",
		"url:gopher://u:geheim@h/x":          "http or https",
		"cgroup:/nonexistent-folder-of-test": "no control group",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the password is in %v", text, err)
		}
	}
}

func TestPasswordOfAnAddressIsUsedAndNotShown(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, got, _ = r.BasicAuth()
		fmt.Fprintln(w, "process_resident_memory_bytes 1e6\nprocess_open_fds 12\nprocess_max_fds 1024")
	}))
	address := strings.Replace(server.URL, "http://", "http://me:geheim@", 1) + "/metrics"
	s, err := Parse("url:" + address)
	if err != nil {
		t.Fatal(err)
	}
	values, err := s.Sample(context.Background())
	if err != nil || got != "geheim" || strings.Contains(s.Name(), "geheim") {
		t.Errorf("%v, password %q, name %s", err, got, s.Name())
	}
	want := []Value{{Metric: metricRSS, Value: 1e6},
		{Metric: metricFiles, Value: 12, Limit: 1024, LimitName: "process_max_fds"}}
	if fmt.Sprint(values) != fmt.Sprint(Sample(want)) {
		t.Errorf("got %+v", values)
	}
	server.Close()
	if _, err := s.Sample(context.Background()); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("got %v", err)
	}
}

func TestNamesOfRuntimes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]float64
	}{
		{
			"Go", "# TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{quantile=\"1\"} 0.5\ngo_gc_duration_seconds_sum 2\ngo_gc_duration_seconds_count 7\ngo_goroutines 9\ngo_threads 5\ngo_memstats_heap_alloc_bytes 1000\ngo_gc_gomemlimit_bytes 9.223372036854776e+18\n",
			map[string]float64{"gc_cycles": 7, "gc_pause_seconds": 2, "goroutines": 9, "threads": 5, "heap_bytes": 1000}},
		{
			"JVM, Micrometer", "jvm_memory_used_bytes{area=\"heap\",id=\"G1 Eden\"} 10\njvm_memory_used_bytes{area=\"heap\",id=\"G1 Old\"} 20\njvm_memory_used_bytes{area=\"nonheap\",id=\"Metaspace\"} 5\njvm_memory_max_bytes{area=\"heap\",id=\"G1 Eden\"} -1\njvm_memory_max_bytes{area=\"heap\",id=\"G1 Old\"} 100\n# TYPE jvm_gc_pause_seconds summary\njvm_gc_pause_seconds_count{action=\"a\"} 3\njvm_gc_pause_seconds_count{action=\"b\"} 4\njvm_gc_pause_seconds_sum{action=\"a\"} 0.5\njvm_threads_live_threads 31\n",
			map[string]float64{"heap_bytes": 30, "nonheap_bytes": 5, "gc_cycles": 7, "gc_pause_seconds": 0.5, "threads": 31,
				"limit heap_bytes": 100}},
		{
			"JVM, simpleclient", "jvm_memory_bytes_used{area=\"heap\"} 30\njvm_memory_bytes_max{area=\"heap\"} 64\n# TYPE jvm_gc_collection_seconds summary\njvm_gc_collection_seconds_count{gc=\"G1 Young\"} 3\njvm_gc_collection_seconds_sum{gc=\"G1 Young\"} 0.25\njvm_threads_current 12\n",
			map[string]float64{"heap_bytes": 30, "gc_cycles": 3, "gc_pause_seconds": 0.25, "threads": 12,
				"limit heap_bytes": 64}},
		{".NET, prometheus-net",
			"process_working_set_bytes 5000\ndotnet_total_memory_bytes 400\ndotnet_collection_count_total{generation=\"0\"} 5\ndotnet_collection_count_total{generation=\"2\"} 1\nprocess_num_threads 20\nprocess_open_handles 100\n",
			map[string]float64{"rss_bytes": 5000, "heap_bytes": 400, "gc_cycles": 6, "threads": 20, "open_files": 100}},
		{
			".NET, OpenTelemetry", "process_runtime_dotnet_gc_heap_size_bytes{generation=\"gen0\"} 400\nprocess_runtime_dotnet_gc_heap_size_bytes{generation=\"gen2\"} 100\nprocess_runtime_dotnet_gc_collections_count_total 5\nprocess_runtime_dotnet_gc_duration_nanoseconds_total 2e9\nprocess_runtime_dotnet_thread_pool_threads_count 4\n",
			map[string]float64{"heap_bytes": 500, "gc_cycles": 5, "gc_pause_seconds": 2, "threads": 4}},
	} {
		families, err := parseMetrics(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := map[string]float64{}
		for _, v := range pickAll(picks(), families) {
			got[v.Name] = v.Value
			if v.Limit > 0 {
				got["limit "+v.Name] = v.Limit
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// fake is a source whose samples a function returns.
type fake func(ctx context.Context) (Sample, error)

func (fake) Name() string                                 { return "fake" }
func (f fake) Sample(ctx context.Context) (Sample, error) { return f(ctx) }

// interval returns the n-th interval of 1 s.
func interval(n int) *measure.Interval {
	return &measure.Interval{Index: n, Phase: "load", Account: measure.Account{StartNs: int64(n) * 1e9,
		EndNs: int64(n+1) * 1e9}}
}

// A source that hangs delays neither the load nor its end.
func TestHangingSourceDelaysNothing(t *testing.T) {
	entered := make(chan struct{})
	w := NewWatcher([]Source{fake(func(ctx context.Context) (Sample, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	})}, time.Now)
	if err := w.Start(record.OS{}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	_ = w.Interval(interval(0))
	<-entered
	for i := 1; i < 1000; i++ {
		_ = w.Interval(interval(i))
	}
	out, _ := w.Finish()
	if out[0].Samples != 0 || out[0].Missed < 900 {
		t.Errorf("got %+v", out[0])
	}
}

// feed watches a source whose n-th value is values(n), with one sample per interval of 1 s.
func feed(t *testing.T, n int, values func(i int) Sample) record.Watched {
	t.Helper()
	w := NewWatcher(nil, nil)
	s := &watched{source: fake(nil), log: &logFile{}}
	at := time.Unix(0, 0)
	for i := range n {
		v := values(i)
		s.source = fake(func(context.Context) (Sample, error) { return v, nil })
		s.sample(context.Background(), tick{endNs: int64(i+1) * 1e9},
			func() time.Time { return at.Add(time.Duration(i) * time.Second) })
	}
	s.log = nil
	w.watched = []*watched{s}
	out, _ := w.Finish()
	return out[0]
}

func TestHoursToTheLimit(t *testing.T) {
	// grows by 1 MB per second from 100 MB; the limit is 1 GB
	got := feed(t, 240, func(i int) Sample {
		return Sample{{Metric: metricRSS, Value: 100e6 + 1e6*float64(i), Limit: 1e9, LimitName: "limit"}}
	}).Metrics[0].Trend
	wantHours := (1e9 - 339e6) / 3.6e9
	if got.Verdict != record.TrendLeak || math.Abs(got.PerHour-3.6e9) > 1e3 ||
		math.Abs(got.HoursToLimit-wantHours) > 1e-6 || got.LimitName != "limit" {
		t.Errorf("got %+v, want 3.6 GB/h and %v h", got, wantHours)
	}
}

func TestHeapIsJudgedByItsFloor(t *testing.T) {
	heap := func(leak float64, every int) record.Watched {
		return feed(t, 240, func(i int) Sample {
			return Sample{
				{Metric: metricHeap, Value: 50e6 + leak*float64(i) + 1e6*float64(i%every)},
				{Metric: metricCycles, Value: float64(i / every)},
			}
		})
	}
	for _, c := range []struct {
		leak  float64
		every int
		want  string
	}{{0, 10, record.TrendSteady}, {100e3, 10, record.TrendLeak}, {100e3, 40, record.TrendUnjudged}} {
		if got := heap(c.leak, c.every).Metrics[0].Trend; got.Verdict != c.want {
			t.Errorf("leak %v, a collection every %d s: got %+v, want %s", c.leak, c.every, got, c.want)
		}
	}
}

func TestCountersThatBeginAnewAreNoRate(t *testing.T) {
	got := feed(t, 20, func(i int) Sample {
		return Sample{{Metric: metricCPU, Value: float64(i%10) / 2}}
	}).Metrics[0]
	if got.Unit != "cores" || got.Min != 0.5 || got.Max != 0.5 {
		t.Errorf("got %+v, want 0.5 cores throughout", got)
	}
}

func TestFewSamplesAreNotJudged(t *testing.T) {
	got := feed(t, fewestSamples-1, func(i int) Sample { return Sample{{Metric: metricFiles, Value: float64(i)}} })
	if tr := got.Metrics[0].Trend; tr.Verdict != record.TrendUnjudged || tr.Why.IsZero() {
		t.Errorf("got %+v", tr)
	}
}

func TestThroughputDrift(t *testing.T) {
	run := func(offered uint64, ok func(i int) uint64) (record.Watched, bool) {
		w := NewWatcher(nil, time.Now)
		for i := range 300 {
			iv := interval(i)
			iv.Phase = "long"
			if i < 20 {
				iv.Phase = "short"
			}
			iv.Offered = offered
			iv.Operations = []measure.OperationAccount{{Counts: measure.Counts{Done: ok(i)}}}
			_ = w.Interval(iv)
		}
		out, _ := w.Finish()
		if len(out) == 0 {
			return record.Watched{}, false
		}
		return out[0], true
	}
	falling := func(i int) uint64 { return uint64(10000 - 10*i + i%7) }
	for _, c := range []struct {
		name    string
		offered uint64
		ok      func(i int) uint64
		want    string
	}{
		{"closed, falling", 0, falling, record.TrendDrift},
		{"open, falling", 10000, falling, record.TrendDrift},
		{"steady", 0, func(i int) uint64 { return uint64(10000 + (i*37)%11) }, record.TrendSteady},
	} {
		got, ok := run(c.offered, c.ok)
		if !ok || got.Metrics[0].Trend.Verdict != c.want || got.Samples != 280 {
			t.Errorf("%s: got %+v, want %s", c.name, got, c.want)
		}
	}
	if got, ok := run(0, func(int) uint64 { return 0 }); ok {
		t.Errorf("a load without successes was judged: %+v", got)
	}
}

func TestStatOfOddlyNamedProcess(t *testing.T) {
	st, ok := parseStat([]byte(
		"42 (a) R (b) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 9 0 12345 1000000 321 18446744073709551615 1 1"))
	if !ok || st != (processStat{state: "S", parent: 7, cpuTicks: 200, threads: 9, started: "12345", rssPages: 321}) {
		t.Errorf("got %+v, %v", st, ok)
	}
}

func FuzzProcFiles(f *testing.F) {
	f.Add([]byte("42 (a) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 9 0 12345 1000000 321 1"))
	f.Add(
		[]byte(
			"  sl  local_address rem_address   st\n   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   110        0 17263 1 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseStat(data)
		states := map[string]string{}
		parseTCP(strings.NewReader(string(data)), states)
		for inode, state := range states {
			if inode == "" || state == "" {
				t.Errorf("%q: %q", inode, state)
			}
		}
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add(
		"# TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{quantile=\"1\"} 0.5\ngo_gc_duration_seconds_count 7\nprocess_open_fds NaN\n")
	f.Fuzz(func(t *testing.T, text string) {
		families, err := parseMetrics(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, v := range pickAll(picks(), families) {
			if math.IsNaN(v.Value) {
				t.Errorf("%+v", v)
			}
		}
	})
}

// One additional thread is no leak, wherever in a batch it starts. Regular additional threads are.
func TestStepsOfCounts(t *testing.T) {
	for at := range 240 {
		got := feed(t, 240, func(i int) Sample {
			v := 7.0
			if i >= at {
				v = 8
			}
			return Sample{{Metric: metricThreads, Value: v}}
		}).Metrics[0].Trend
		if got.Verdict == record.TrendLeak {
			t.Errorf("a step at sample %d of 240 is a leak: %+v", at, got)
		}
	}
	got := feed(t, 240, func(i int) Sample {
		return Sample{{Metric: metricThreads, Value: 7 +
			float64(i/20)}}
	}).Metrics[0].Trend
	if got.Verdict != record.TrendLeak {
		t.Errorf("a thread more every 20 samples is no leak: %+v", got)
	}
}
