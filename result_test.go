package brunt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt"
	"brunt/internal/plan/planfile/form/formtest"
)

// recorded runs a load with a bundle. Every tenth operation fails.
func recorded(t *testing.T) *brunt.Result {
	t.Helper()
	return run(t, brunt.Load{Name: "cars", Count: 1000, Sessions: 4, Results: filepath.Join(t.TempDir(), "results"),
		Rules: []string{"errors < 20%"}, Do: func(_ context.Context, n uint64) error {
			if n%10 == 0 {
				return errors.New("sold out")
			}
			return nil
		}})
}

// A bundle says what the result says, and follows the schemas in docs.
func TestBundle(t *testing.T) {
	t.Parallel()
	r := recorded(t)
	read, err := brunt.Read(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if read.Total.Done != 1000 || read.Total.Failed != 100 || read.Verdict != r.Verdict || read.Name != "cars" ||
		read.Total.Response.Quantile(0.5) != r.Total.Response.Quantile(0.5) || len(read.Rules) != 1 {
		t.Errorf("%+v, want %+v", read, r)
	}
	if len(read.Failures) != 1 || read.Failures[0].Text != "sold out" || read.Failures[0].Count != 100 {
		t.Errorf("%+v", read.Failures)
	}
	for _, c := range []struct{ schema, file string }{
		{"run.schema.json", "run.json"}, {"intervals.schema.json", "intervals.ndjson"},
	} {
		text, err := os.ReadFile(filepath.Join("docs", c.schema))
		if err != nil {
			t.Fatal(err)
		}
		schema := formtest.Compile(t, text)
		content, err := os.ReadFile(filepath.Join(r.Dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		documents := [][]byte{content}
		if strings.HasSuffix(c.file, ".ndjson") {
			documents = bytes.Split(bytes.TrimSpace(content), []byte("\n"))
		}
		for _, d := range documents {
			if err := schema.Validate(t, d); err != nil {
				t.Errorf("%s: %v", c.file, err)
			}
		}
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	r := recorded(t)
	for _, format := range []string{"text", "brief", "json", "csv", "md", "junit", "html"} {
		t.Run(format, func(t *testing.T) {
			var b bytes.Buffer
			if err := r.Report(&b, format); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "cars") && !strings.Contains(b.String(), "1000") {
				t.Errorf("%s", &b)
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Error("it is no JSON")
			}
		})
	}
	if err := r.Report(&bytes.Buffer{}, "poem"); err == nil || !strings.Contains(err.Error(), "poem") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(r.String(), "cars") {
		t.Errorf("%s", r)
	}
}

// A result can be judged by other rules, with a bundle and without.
func TestJudge(t *testing.T) {
	t.Parallel()
	bundled := recorded(t)
	plain := run(t, brunt.Load{Count: 1000, Do: func(_ context.Context, n uint64) error {
		if n%10 == 0 {
			return errors.New("sold out")
		}
		return nil
	}})
	for name, r := range map[string]*brunt.Result{"with a bundle": bundled, "without": plain} {
		t.Run(name, func(t *testing.T) {
			judged, err := r.Judge("errors < 5%", "count == 1000")
			if err != nil {
				t.Fatal(err)
			}
			if len(judged.Rules) != 2 || judged.Rules[0].Holds || !judged.Rules[1].Holds ||
				math.Abs(judged.Rules[0].Value-0.1) > 1e-9 {
				t.Errorf("%+v", judged.Rules)
			}
			if judged.Verdict == brunt.Pass || len(judged.Warnings) != len(r.Warnings) {
				t.Errorf("%s: %q", judged.Verdict, judged.Warnings)
			}
			if _, err := r.Judge("speed < 3"); err == nil {
				t.Error("a rule that isn't one is accepted")
			}
			if _, err := r.Judge("response.p(50) < 1h over 1s"); (err == nil) != (r.Dir != "") {
				t.Errorf("a rule about windows: %v", err)
			}
		})
	}
}

// Results of several runs are compared; runs of other loads are refused.
func TestCompare(t *testing.T) {
	t.Parallel()
	side := func(name string, d time.Duration) (all []*brunt.Result) {
		for range 3 {
			all = append(all, run(t, brunt.Load{Name: name, Count: 30, Do: func(context.Context, uint64) error {
				<-time.After(d)
				return nil
			}}))
		}
		return all
	}
	fast, slow := side("cars", 0), side("cars", 20*time.Millisecond)
	c, err := brunt.Compare(fast, slow)
	if err != nil { // a machine that stood still makes a run invalid, and is told
		if strings.Contains(err.Error(), "invalid") {
			return
		}
		t.Fatal(err)
	}
	for _, m := range c.Metrics {
		if m.Metric == "rate" && m.Operation == "" && (m.Share >= 0 || m.Base <= m.Candidate) {
			t.Errorf("%+v", m)
		}
	}
	for _, format := range []string{"text", "md", "csv", "json", "junit"} {
		var b bytes.Buffer
		if err := c.Report(&b, format); err != nil || b.Len() == 0 {
			t.Errorf("%s: %v: %s", format, err, &b)
		}
	}
	if err := c.Report(&bytes.Buffer{}, "poem"); err == nil {
		t.Error("a format that isn't one is accepted")
	}
	if _, err := brunt.Compare(fast, nil); err == nil {
		t.Error("nothing is comparable with nothing")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	empty, newer := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "run.json"), []byte(`{"schema": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, says string }{
		{"no bundle", empty, "run.json"}, {"nothing", filepath.Join(empty, "x"), "run.json"}, {"a newer one", newer, "newer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := brunt.Read(c.dir); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
