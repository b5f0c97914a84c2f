package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure"
)

// testdata/schema1 was written when version 1 was the current version.
func TestOldBundlesAreRead(t *testing.T) {
	b := openAll(t, "testdata/schema1")[0]
	if b.Run.Schema != 1 || b.Run.Total.OK != 80 || len(b.Run.Operations) != 2 || b.Run.Operations[0].Done != 56 ||
		!b.Run.Complete {
		t.Errorf("schema %d, %d succeeded", b.Run.Schema, b.Run.Total.OK)
	}
	run, _, err := b.Rebuild()
	if err != nil || run.Total.OK != 80 || run.Total.Response.P50Ns != b.Run.Total.Response.P50Ns ||
		run.Total.Response.MaxNs != b.Run.Total.Response.MaxNs {
		t.Errorf("%v: rebuilt %+v, was %+v", err, run.Total, b.Run.Total)
	}
	intervals := 0
	if err := b.Intervals(func(iv *measure.Interval) error { intervals++; return nil }); err != nil || intervals == 0 ||
		len(b.Damage()) > 0 {
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
	if _, err := Open(OS{}, dir); err == nil || !strings.Contains(err.Error(),
		"schema version 3 is newer than this program reads (2); update brunt") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// testdata/schema2 contains two parts of a load that were written before merge tags existed.
func TestPartsOfVersion2AreMerged(t *testing.T) {
	parts := openAll(t, "testdata/schema2/part-1", "testdata/schema2/part-2")
	run, _, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "whole")
	if err := Join(OS{}, dir, run, nil, nil, parts...); err != nil {
		t.Fatal(err)
	}
	run = openAll(t, dir)[0].Run
	if want := parts[0].Run.Total.Done + parts[1].Run.Total.Done; run.Total.Done != want || run.Sessions != 4 ||
		len(run.Warnings) == 0 {
		t.Errorf("%d done, want %d; %d sessions, %d warnings", run.Total.Done, want, run.Sessions, len(run.Warnings))
	}
	var have []string
	for _, w := range run.Watched {
		have = append(have, w.Source)
		if _, err := os.Stat(filepath.Join(dir, w.File)); err != nil {
			t.Errorf("the file of %s: %v", w.Source, err)
		}
	}
	var sampled []string
	err = openAll(t, dir)[0].WatchedSamples(IsMachine, func(source string, _ *WatchedSample) error {
		if !slices.Contains(sampled, source) {
			sampled = append(sampled, source)
		}
		return nil
	})
	if want := []string{"part-1/host", "part-2/host"}; err != nil || !slices.Equal(have, want) ||
		!slices.Equal(sampled, want) {
		t.Errorf("%v: watched %q, samples of %q, want %q", err, have, sampled, want)
	}
	if len(run.Parts) != 2 || run.Parts[1].ID != parts[1].Run.ID || len(run.Parts[1].Command) == 0 ||
		run.Parts[1].Environment.Hostname != "loader" {
		t.Errorf("parts %+v", run.Parts)
	}
}
