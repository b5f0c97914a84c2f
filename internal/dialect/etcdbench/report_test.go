package etcdbench

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/result/reader"
	"brunt/internal/judge/result/resulttest"
	"brunt/internal/measure"
	"brunt/internal/record"

	"brunt/internal/judge/result"
)

// The texts are those of etcd's own report, see testdata/README.md. The times are the ends of a histogram's buckets, so
// that they are exact.
func TestReportIsEtcds(t *testing.T) {
	for _, c := range []struct {
		file    string
		n       int
		precise bool
		errors  []ErrorCount
	}{
		{"report.out", 200, false, []ErrorCount{{"etcdserver: request is too large", 7}}},
		{"report-few.out", 3, true, []ErrorCount{{"etcdserver: request is too large", 7}}},
		{"report-precise.out", 200, true, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			r := &Report{Precise: c.precise, Total: 2 * time.Second, Times: measure.NewHistogram(), Errors: c.errors,
				Sample: c.file == "report-precise.out"}
			var of meterOperation
			for part := range 4 {
				slice := measure.NewHistogram()
				for i := part * 50; i < min(c.n, part*50+50); i++ {
					ns := int64(1024+i*i*7%1000)<<17 - 1
					r.Times.Record(ns)
					slice.Record(ns)
				}
				of.add(Second{Unix: 1_700_000_000 + 2*int64(part), Min: time.Duration(slice.Min()),
					Mean: time.Duration(slice.Mean()), Max: time.Duration(slice.Max()), Count: slice.Count()})
			}
			r.Seconds = of.seconds
			want, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			same(t, r.String(), string(want))
		})
	}
}

// same compares texts. Numbers with many digits may differ in the last ones, because they are added up in another
// order.
func same(t *testing.T, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("got %d lines, want %d:\n%s", len(gotLines), len(wantLines), got)
	}
	for i, line := range wantLines {
		if gotLines[i] == line {
			continue
		}
		a, b := strings.Fields(gotLines[i]), strings.Fields(line)
		for k := range b {
			x, err1 := strconv.ParseFloat(a[min(k, len(a)-1)], 64)
			y, err2 := strconv.ParseFloat(b[k], 64)
			if len(a) != len(b) || a[k] != b[k] && (err1 != nil || err2 != nil || math.Abs(x-y) > 1e-9*y) {
				t.Errorf("line %d: got %q, want %q", i+1, gotLines[i], line)
			}
		}
	}
}

func TestQuantilesOfFewTimes(t *testing.T) {
	r := &Report{Total: time.Second, Times: measure.NewHistogram()}
	if r.String() != "" {
		t.Errorf("nothing was sent: %q", r.String())
	}
	r.Times.Record(1e6)
	if got := r.String(); !strings.HasSuffix(got, "\nLatency distribution:\n") {
		t.Errorf("one time: %q", got)
	}
}

func TestSecondsAreMerged(t *testing.T) {
	var o meterOperation
	o.add(Second{Unix: 5, Min: 2, Mean: 4, Max: 6, Count: 1})
	o.add(Second{Unix: 5, Min: 1, Mean: 1, Max: 1, Count: 3})
	if want := (Second{Unix: 5, Min: 1, Mean: 1, Max: 6, Count: 4}); len(o.seconds) != 1 || o.seconds[0] != want {
		t.Errorf("%+v", o.seconds)
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 9: "9 B", 10: "10 B", 1500: "1.5 kB", 963_123: "963 kB",
		2_000_000: "2.0 MB", 20_480_000: "20 MB"} {
		if got := decimalSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// The outputs of the real benchmark are read.
func TestResults(t *testing.T) {
	for _, c := range []struct {
		file string
		want map[string]float64
	}{
		{"real-put.out", map[string]float64{"count": 3000, "errors": 0, "response.p(99)": 0.0023e9}},
		{"real-txn-mixed.out", map[string]float64{"count": 600, "errors": 0, "write: count": 281, "write: rate": 1161.0499,
			"write: response.avg": 0.0023e9, "write: response.p(50)": 0.0019e9}},
		{"report-few.out", map[string]float64{"count": 3, "errors": 0.7}},
	} {
		r, err := reader.Read(record.OS{}, filepath.Join("testdata", c.file), false, []result.Format{Results()})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		resulttest.Expect(t, r, c.want)
	}
	if _, err := ParseResult([]byte("\nSummary:\n  Total:\t1.0 secs.\n  Slowest:\t1 secs.\n")); err == nil {
		t.Error("an output that was cut off is read")
	}
}
