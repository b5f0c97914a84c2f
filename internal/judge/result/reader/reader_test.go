package reader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/judge/result/reader"
	"brunt/internal/judge/result/resulttest"
	"brunt/internal/record"
)

// copyBundle copies the old bundle and changes its run.json.
func copyBundle(t *testing.T, old, with string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(dir, os.DirFS("../../../record/testdata/schema1")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, record.RunFile)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v: there is no %s", err, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBundlesAreRead(t *testing.T) {
	whole := copyBundle(t, `"complete": true`, `"complete": true`)
	for _, path := range []string{whole, filepath.Join(whole, record.RunFile), filepath.Join(whole, record.PlanFile)} {
		r, err := reader.Read(record.OS{}, path, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		resulttest.Expect(t, r, map[string]float64{"count": 80, "errors": 0, "response.p(50)": 2195, "select: count": 56,
			"other: response.p(99)": 39119})
		if r.Program != "brunt" || r.Verdict != "pass" || r.Killed || len(r.Servers) != 1 ||
			!strings.Contains(string(r.Plan), "select 1") {
			t.Errorf("%s: %+v", path, r)
		}
		// The precision is unknown for a single interval.
		if w := r.Find("rate", "").Within; w == nil || w.Why.IsZero() {
			t.Errorf("within the run: %+v", w)
		}
	}
	killed, err := reader.Read(record.OS{}, copyBundle(t, `"complete": true`, `"complete": false`), false, nil)
	if err != nil || !killed.Killed || killed.Verdict != "invalid" {
		t.Errorf("killed: %v, %+v", err, killed)
	}
	resulttest.Expect(t, killed, map[string]float64{"count": 80})
	if _, err := reader.Read(record.OS{}, copyBundle(t, `"schema": 1`, `"schema": 99`), false, nil); err == nil ||
		!strings.Contains(err.Error(), "newer") || strings.Contains(err.Error(), "\n") {
		t.Errorf("newer: %v", err)
	}
	damaged := copyBundle(t, `"complete": true`, `"complete": false`)
	if err := os.WriteFile(filepath.Join(damaged, record.IntervalsFile), []byte("{\n\x00\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := reader.Read(record.OS{}, damaged, true, nil); err != nil || r.Succeeded() {
		t.Errorf("without intervals: %v, %+v", err, r)
	}
	// The output of --output json is the same except for the folder.
	text, err := os.ReadFile(filepath.Join(whole, record.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	printed := filepath.Join(t.TempDir(), "first.json")
	if err := os.WriteFile(printed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := reader.Read(record.OS{}, printed, true, nil); err != nil || r.Find("count", "").Value != 80 {
		t.Errorf("printed: %v", err)
	}
}
