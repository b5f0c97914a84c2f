package tools_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"brunt/internal/dialect/picostress/summary"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/judge/result/resulttest"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// formats are the formats of the files in testdata.
var formats = tools.All().Results()

func TestForeignResults(t *testing.T) {
	for _, c := range []struct {
		file, program, name string
		want                map[string]float64
	}{
		{"k6-export.json", "k6", "", map[string]float64{
			"rate": 99.87, "count": 3000, "errors": 0.02, "response.avg": 12.5e6, "response.p(50)": 10.25e6,
			"response.p(95)": 31.125e6,
			"response.p(99)": 80e6, "iteration_duration: response.avg": 15.5e6,
		}},
		{"k6-summary.json", "k6", "", map[string]float64{
			"rate": 199.74, "count": 6000, "errors": 0.005, "response.avg": 2.5e6, "response.p(90)": 4e6,
			"iteration_duration: response.p(50)": 15e9,
		}},
		{"k6-new.json", "k6", "", map[string]float64{"rate": 20, "count": 610, "response.avg": 49.5e6,
			"response.p(95)": 70e6}},
		{"ycsb.txt", "go-ycsb", "core", map[string]float64{
			"rate": 995, "count": 20000, "errors": 50.0 / 20050, "response.avg": 460e3, "response.p(99.9)": 6000e3,
			"READ: response.p(99)": 1201e3, "READ: rate": 945.3, "UPDATE: errors": 50.0 / 1050,
		}},
		{"picostress.json", "picostress", "QUEUE", map[string]float64{
			"rate": 400.12345, "count": 4975, "errors": 0.005, "response.avg": 2.5e6, "response.p(50)": 2e6,
			"response.p(95)": 6.5e6,
		}},
		{"pgbench.txt", "pgbench", "<builtin: select only>", map[string]float64{"rate": 5124.581303, "count": 128072,
			"errors": 0, "response.avg": 0.39e6}},
		{"pgbench-scripts.txt", "pgbench", "multiple scripts", map[string]float64{
			"rate": 1010.1, "<builtin: select only>: rate": 707.4, "<builtin: simple update>: count": 2991,
			"<builtin: simple update>: response.avg": 2.5e6,
		}},
		{"pgbench-old.txt", "pgbench", "<builtin: TPC-B (sort of)>", map[string]float64{"rate": 612.4, "count": 6000,
			"response.avg": 1.633e6}},
	} {
		r, err := reader.Read(record.OS{}, filepath.Join("testdata", c.file), false, formats)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if r.Program != c.program || r.Name != c.name {
			t.Errorf("%s: %s %q", c.file, r.Program, r.Name)
		}
		resulttest.Expect(t, r, c.want)
		for _, m := range r.Metrics {
			if math.IsNaN(m.Value) || m.Unit == "" {
				t.Errorf("%s: %+v", c.file, m)
			}
		}
	}
}

func TestSeedsKeepAllDigits(t *testing.T) {
	r, err := reader.Read(record.OS{}, "testdata/picostress.json", false, formats)
	if err != nil || r.Seed != "18446744073709551615" || r.Servers[0] != "Picodata 25.1.1" {
		t.Errorf("%+v, %v", r, err)
	}
}

// pgbench's progress lines are used as intervals within the run.
func TestProgressGivesIntervals(t *testing.T) {
	r, err := reader.Read(record.OS{}, "testdata/pgbench.txt", false, formats)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Find("rate", "").Within; w == nil || !w.Why.IsZero() || !(w.Low < 5130 && 5130 < w.High) || r.Sessions != 2 {
		t.Errorf("%+v", r)
	}
	if r, _ = reader.Read(record.OS{}, "testdata/pgbench-old.txt", false, formats); r.Find("rate", "").Within != nil {
		t.Error("a run without progress has an interval")
	}
}

func TestOwnSummariesAreRead(t *testing.T) {
	run := &record.Run{Schema: record.SchemaVersion, Name: "cars", Seed: 7, LoadModel: "open", DurationNs: 10e9,
		Sessions: 3, Complete: true}
	run.Total = record.Operation{RatePerS: 99,
		Counts: record.CountsOf(&measure.Counts{Done: 1000, Errors: measure.ByClass{1: 10}})}
	run.Total.ResponseOK = record.Latency{Count: 990, MeanNs: 2e6, P50Ns: 1e6, P90Ns: 3e6, P95Ns: 4e6, P99Ns: 9e6,
		MaxNs: 20e6}
	run.Verdict.Result = "pass"
	dir := t.TempDir()
	path, err := summary.Write(record.OS{}, dir, run)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.Read(record.OS{}, path, false, formats)
	if err != nil {
		t.Fatal(err)
	}
	resulttest.Expect(t, r, map[string]float64{"rate": 99, "count": 990, "errors": 0.01, "response.avg": 2e6,
		"response.p(99)": 9e6})
	if r.Seed != "7" || r.LoadModel != "open" || r.Sessions != 3 || r.Verdict != "pass" || r.Killed {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNoResultIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"text":              {"hello\n", "not a result"},
		"empty":             {" \n", "empty"},
		"other JSON":        {`{"a": 1}`, "not a result"},
		"cut JSON":          {`{"metrics": {`, "damaged"},
		"a list":            {`[1, 2]`, "go-ycsb"},
		"k6 without a rate": {`{"metrics": {"vus": {"value": 1}}}`, "no rate"},
		"pgbench, killed":   {"pgbench (15.14)\nprogress: 1.0 s, 10.0 tps, lat 1.0 ms stddev 0.1\n", "killed"},
		"newer schema":      {`{"schema": 99, "total": {}}`, "newer"},
		"other summary":     {`{"rps": {"target": 5}}`, "no rps.actual"},
		"binary":            {"\x00\x01\x02", "not a result"},
		"a negative time":   {`{"rps": {"actual": 5}, "resp_time": {"avg": -3}}`, "negative"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := reader.Read(record.OS{}, path, false, formats)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path, want := range map[string]string{filepath.Join(dir, "nothing"): "doesn't exist", dir: "holds no run"} {
		if _, err := reader.Read(record.OS{}, path, false, formats); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Files written by a Windows shell have a byte order mark and may be in UTF-16.
func TestByteOrderMarksAreTaken(t *testing.T) {
	for _, file := range []string{"k6-export.json", "ycsb.txt", "picostress.json", "pgbench.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := reader.Decode(text, formats)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			as   func(string) ([]byte, error)
		}{
			{"UTF-8", func(s string) ([]byte, error) { return []byte("\ufeff" + s), nil }},
			{"UTF-16, little-endian", encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))},
			{"UTF-16, big-endian", encode(unicode.UTF16(unicode.BigEndian, unicode.UseBOM))},
		} {
			t.Run(file+" in "+c.name, func(t *testing.T) {
				data, err := c.as(string(text))
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), file)
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := reader.Read(record.OS{}, path, false, formats)
				if err != nil || !reflect.DeepEqual(got.Metrics, plain.Metrics) {
					t.Errorf("%v: %+v", err, got)
				}
			})
		}
	}
}

func encode(e encoding.Encoding) func(string) ([]byte, error) {
	return func(s string) ([]byte, error) {
		out, err := e.NewEncoder().String(s)
		return []byte(out), err
	}
}

// Results of other programs have no ID. A hash of their text distinguishes the same file from another run.
func TestForeignResultsHaveAnIdentity(t *testing.T) {
	text, err := os.ReadFile("testdata/pgbench.txt")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) *result.Result {
		path := filepath.Join(t.TempDir(), "result")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := reader.Read(record.OS{}, path, false, formats)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, copied := read(string(text)), read(string(text)+"\n")
	other := read(strings.Replace(string(text), "5124.581303", "5124.581304", 1))
	if one.ID == "" || one.ID != copied.ID || one.ID == other.ID {
		t.Errorf("%q, its copy %q, another %q", one.ID, copied.ID, other.ID)
	}
	_, err = compare.Runs([]*result.Result{one}, []*result.Result{copied}, compare.Options{})
	if err == nil || !strings.Contains(err.Error(), "are one run, of which one is a copy") {
		t.Errorf("the same file on both sides: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/*")
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := reader.Decode(data, formats)
		if err != nil {
			return
		}
		for _, m := range r.Metrics {
			if math.IsNaN(m.Value) {
				t.Errorf("%+v", m)
			}
		}
	})
}
