package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/measure"
)

// testdata/schema1 was written by the program as it was when version 1 was the newest.
func TestOldBundlesAreRead(t *testing.T) {
	b := openAll(t, "testdata/schema1")[0]
	if b.Run.Schema != 1 || b.Run.Total.OK != 80 || len(b.Run.Operations) != 2 || b.Run.Operations[0].Done != 56 || !b.Run.Complete {
		t.Errorf("schema %d, %d succeeded", b.Run.Schema, b.Run.Total.OK)
	}
	run, _, err := b.Rebuild()
	if err != nil || run.Total.OK != 80 || run.Total.Response.P50Ns != b.Run.Total.Response.P50Ns || run.Total.Response.MaxNs != b.Run.Total.Response.MaxNs {
		t.Errorf("%v: rebuilt %+v, was %+v", err, run.Total, b.Run.Total)
	}
	intervals := 0
	if err := b.Intervals(func(iv *measure.Interval) error { intervals++; return nil }); err != nil || intervals == 0 || len(b.Damage()) > 0 {
		t.Errorf("%v: %d intervals, damage %v", err, intervals, b.Damage())
	}
	if plan, err := b.Plan(); err != nil || !strings.Contains(string(plan), "select 1") {
		t.Errorf("%v: %s", err, plan)
	}
	if h, err := b.Run.Total.Service.Histogram(); err != nil || h.Count() != 80 {
		t.Errorf("%v: %d", err, h.Count())
	}
}

func TestNewerBundlesAreRefusedInOneLine(t *testing.T) {
	text, err := os.ReadFile("testdata/schema1/run.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	newer := strings.Replace(string(text), `"schema": 1`, `"schema": 3`, 1)
	if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(OS{}, dir); err == nil || !strings.Contains(err.Error(), "schema version 3 is newer than this program reads (2); update brunt") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
