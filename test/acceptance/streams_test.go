package acceptance_test

import (
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver/grpcserver"
)

// The times of streams' messages are recorded as other times are: the record of a load over workers, and what brunt
// merge makes of the records of the workers, have those of all of them.
func TestTimesOfStreamsOfWorkers(t *testing.T) {
	t.Parallel()
	s, home := grpcserver.Start(t), t.TempDir()
	dir, merged := filepath.Join(home, "bundle"), filepath.Join(home, "merged")
	o := spawn(t, home, "grpc", s.Addr, "brunt.test.Echo/Chat", "-d", `[{"text": "a"}, {"text": "b"}]`, "--send", "5",
		"--stream-interval", "1ms", "-n", "60", "--sessions", "4", "--connections", "2", "--workers", "2", "--mixed-cores",
		"--threshold", "first.p(99) < 1h", "--threshold", "between.max < 1h", "--threshold",
		"pace.max < 1h", "--bundle", dir).wait()
	if !judged(o.code) || !strings.Contains(o.out, "STREAMS") {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	var all measure.OperationAccount
	parts := []string{filepath.Join(dir, record.WorkersFolder, "1"), filepath.Join(dir, record.WorkersFolder, "2")}
	for _, part := range parts {
		before := all.StreamFirst.Count()
		for _, iv := range recordtest.Intervals(t, part) {
			all.Add(&iv.Operations[0])
		}
		if all.StreamFirst.Count() == before {
			t.Errorf("%s has no streams", part)
		}
	}
	if all.StreamFirst.Count() != 60 || all.StreamBetween.Count() != 240 || all.StreamLag.Count() != 300 {
		t.Errorf("the workers had %d streams, %d times between messages, and sent %d messages", all.StreamFirst.Count(),
			all.StreamBetween.Count(), all.StreamLag.Count())
	}
	if o := brunt(t, "merge", parts[0], parts[1], "--bundle", merged); !judged(o.code) {
		t.Fatalf("merge: exit %d\n%s%s", o.code, o.out, o.err)
	}
	for want, args := range map[string][]string{
		"to the first":        {"report", merged},
		"message lag":         {"report", merged},
		"stream_first_count=": {"export", dir, "--format", "influx"},
	} {
		if o := brunt(t, args...); !strings.Contains(o.out, want) {
			t.Errorf("%v has no %q:\n%s", args, want, o.out)
		}
	}
	for _, bundle := range []string{dir, merged} {
		run := readRun(t, bundle)
		equal := func(name string, got *record.Latency, want *measure.Histogram) {
			whole, err := got.Histogram()
			if err != nil || whole.Count() != want.Count() || got.Count != want.Count() {
				t.Fatalf("%s: %s: %d times, want %d (%v)", bundle, name, got.Count, want.Count(), err)
			}
			if int64(got.P50Ns) != want.Quantile(0.5) || int64(got.P99Ns) != want.Quantile(0.99) ||
				whole.Quantile(0.99) != want.Quantile(0.99) || int64(got.MinNs) != want.Min() || int64(got.MaxNs) != want.Max() {
				t.Errorf("%s: %s: %+v, want p50 %d, p99 %d", bundle, name, got, want.Quantile(0.5), want.Quantile(0.99))
			}
		}
		equal("first", &run.Operations[0].StreamFirst, all.StreamFirst)
		equal("pace", &run.Operations[0].StreamLag, all.StreamLag)
		equal("between", &run.Operations[0].StreamBetween, all.StreamBetween)
		equal("first of all", &run.Total.StreamFirst, all.StreamFirst)
		for i := range run.Thresholds {
			if r := &run.Thresholds[i]; !r.Pass || r.Value <= 0 {
				t.Errorf("%s: %+v", bundle, r)
			}
		}
	}
}
