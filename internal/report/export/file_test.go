package export

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// threeIntervals returns three seconds with two operations. The second one does nothing in the last interval.
func threeIntervals() (run *record.Run, all []*measure.Interval) {
	run = &record.Run{ID: "r1", Name: "cars, \"big\"", Operations: []record.Operation{{Name: "look up"},
		{Name: "write\n2"}}, Targets: []record.Target{{Address: "a:1", Protocol: "pg"}}}
	for k := range 3 {
		iv := &measure.Interval{Index: k, UnixNs: 1_700_000_000_000_000_000 + int64(k)*1e9, Phase: "hold",
			Kind: measure.KindOpen}
		iv.StartNs, iv.EndNs, iv.Sessions = int64(k)*1e9, int64(k+1)*1e9, 4
		iv.Operations = make([]measure.OperationAccount, 2)
		iv.Addresses = make([]measure.AddressAccount, 1)
		for i := range iv.Operations {
			if k == 2 && i == 1 {
				continue
			}
			o := &iv.Operations[i]
			o.Response, o.Service, o.Lag = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
			for n := range 100 {
				o.Response.Record(int64(1000 * (n + 1)))
				o.Service.Record(int64(900 * (n + 1)))
				o.Lag.Record(int64(100 * n))
			}
			o.Done, o.Attempts = 103, 110
			o.Errors[1] = 3
		}
		all = append(all, iv)
	}
	return run, all
}

func export(t *testing.T, format string) []byte {
	t.Helper()
	run, all := threeIntervals()
	var b bytes.Buffer
	f, err := NewFile(&b, format, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, iv := range all {
		if err := f.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCSVFile(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(export(t, "csv"))).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	for i, want := range []string{"2023-11-14T22:13:20Z", "0", "1000000000", "hold", "open", "false", "look up", "103",
		"100", "3", "110"} {
		if rows[1][i] != want {
			t.Errorf("%s is %q, want %q", rows[0][i], rows[1][i], want)
		}
	}
	for i, name := range rows[0] {
		if name == "response_p99_ns" && rows[1][i] != "99007" && rows[1][i] != "99000" {
			t.Errorf("p99 is %s", rows[1][i])
		}
	}
}

func TestParquetFile(t *testing.T) {
	data := export(t, "parquet")
	rows, err := parquet.Read[row](bytes.NewReader(data), int64(len(data)))
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	r := rows[4]
	if r.Operation != "look up" || r.StartNs != 2e9 || r.OK != 100 || r.Failed != 3 || *r.ResponseMin != 1000 ||
		*r.ResponseMax != 100_000 || r.Time.UnixNano() != 1_700_000_002_000_000_000 {
		t.Errorf("%+v", r)
	}
}

func TestHDRFile(t *testing.T) {
	text := string(export(t, "hdr"))
	if !strings.HasPrefix(text, "#[Histogram log format version 1.3]\n") || strings.Count(text, "\nTag=look_up,") != 3 {
		t.Errorf("%s", text)
	}
}

func TestInfluxFile(t *testing.T) {
	text := string(export(t, "influx"))
	if strings.Count(
		text, `brunt,run=cars\,\ "big",id=r1,phase=hold,operation=look\ up done=103i,ok=100i,failed=3i`) != 3 ||
		strings.Count(text, "\nbrunt_load,") != 3 {
		t.Errorf("%s", text)
	}
}

// promtool can create blocks from the file, which requires well-formed OpenMetrics.
func TestPrometheusFile(t *testing.T) {
	data := export(t, "prometheus")
	if !bytes.HasSuffix(data, []byte("# EOF\n")) {
		t.Errorf("%s", data)
	}
	if got := bytes.Count(data, []byte("# TYPE brunt_operations counter\n")); got != 1 {
		t.Errorf("the type of brunt_operations stands there %d times:\n%s", got, data)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool isn't installed: apt-get install prometheus")
	}
	file := filepath.Join(t.TempDir(), "metrics.txt")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", file, t.TempDir()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "BLOCK ULID") {
		t.Errorf("%v: %s", err, out)
	}
}

// Data that doesn't fit into memory is kept in a temporary file, which is removed.
func TestPrometheusFileBeyondMemory(t *testing.T) {
	want := export(t, "prometheus")
	t.Setenv("TMPDIR", t.TempDir())
	run, all := threeIntervals()
	var b bytes.Buffer
	f := newOpenMetricsFile(&b, namesOf(run))
	f.pile.most = 1000
	for _, iv := range all {
		if err := f.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if f.pile.end < 5000 || f.pile.bytes > 1000 {
		t.Errorf("%d bytes are in the file, %d in memory", f.pile.end, f.pile.bytes)
	}
	if err := f.Close(); err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%v:\n%s\nwant\n%s", err, b.Bytes(), want)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	f = newOpenMetricsFile(&b, namesOf(run))
	f.pile.most = 1
	if err := f.Interval(all[0]); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a folder with room") {
		t.Error(err)
	}
}

// The samples of a metric are grouped, in the order of time.
func TestPrometheusFileIsGrouped(t *testing.T) {
	last, seen := "", map[string]bool{}
	for line := range strings.Lines(string(export(t, "prometheus"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		metric := strings.Join(fields[:len(fields)-2], " ")
		if metric != last && seen[metric] {
			t.Errorf("%s isn't in one piece", metric)
		}
		last, seen[metric] = metric, true
	}
	if len(seen) < 20 {
		t.Errorf("only %d metrics", len(seen))
	}
}

func TestEmptyFiles(t *testing.T) {
	run, _ := threeIntervals()
	for _, format := range FileFormats() {
		var b bytes.Buffer
		f, err := NewFile(&b, format, run)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := NewFile(nil, "xml", run); err == nil {
		t.Error("xml was taken")
	}
}
