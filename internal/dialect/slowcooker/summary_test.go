package slowcooker

import (
	"os"
	"strings"
	"testing"

	"brunt/internal/measure"
)

func sample() *measure.Histogram {
	h := measure.NewHistogram()
	for _, ms := range []int64{0, 1, 1, 2, 7, 8, 31, 32, 500, 5002, 16004, 20008, 90032} {
		h.Record(ms * 1e6)
	}
	return h
}

func TestTable(t *testing.T) {
	const rows = `FROM    TO #REQUESTS
   0     2 3
   2     8 2
   8    32 2
  32    64 1
  64   128 0
 128   256 0
 256   512 1
 512  1024 0
1024  4096 0
4096 16384 2
`
	for args, want := range map[string]string{"-summary 1.0 http://a": rows + "16384   inf 2\n",
		"-compat -summary 1.0 http://a": rows} {
		var b strings.Builder
		if err := WriteSummary(&b, parse(t, strings.Fields(args)...), sample()); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s:\n%s", args, b.String())
		}
	}
}

func TestJSON(t *testing.T) {
	h := measure.NewHistogram()
	for i := range int64(10000) {
		h.Record(i * 1e5)
	}
	h.Record(70e9)
	for args, p999 := range map[string]string{"http://a": "999", "-compat http://a": "70000"} {
		var b strings.Builder
		if err := WriteSummary(&b, parse(t, strings.Fields(args)...), h); err != nil {
			t.Fatal(err)
		}
		want := "{\n  \"p50\": 500,\n  \"p75\": 750,\n  \"p90\": 900,\n  \"p95\": 950,\n  \"p99\": 990,\n  \"p999\": " +
			p999 + "\n}\n"
		if got := b.String(); got != want {
			t.Errorf("%s:\n%s", args, got)
		}
	}
	for _, args := range []string{"-noLatencySummary http://a", "-summary report http://a"} {
		var b strings.Builder
		if err := WriteSummary(&b, parse(t, strings.Fields(args)...), h); err != nil || b.Len() > 0 {
			t.Errorf("%s: %q, %v", args, b.String(), err)
		}
	}
}

// TestCSV compares the output with a file of the HdrHistogram library that slow_cooker uses (codahale/hdrhistogram of
// 2016-10-10, lowest value 0, highest 24 h, 3 digits). It contains the same values in ms, written by slow_cooker's loop
// over Distribution().
func TestCSV(t *testing.T) {
	golden, err := os.ReadFile("testdata/latencies.csv")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteCSV(&b, parse(t, "http://a"), sample()); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(golden) {
		t.Errorf("%d bytes differ from the golden %d", b.Len(), len(golden))
	}
}
