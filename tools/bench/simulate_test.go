package main

import (
	"path/filepath"
	"strconv"
	"testing"

	"brunt/internal/record"
)

// The bundles of simulated workers can be read and merged like those of real workers.
func TestSimulatedBundlesMerge(t *testing.T) {
	s := &simulation{dir: t.TempDir(), workers: 3, rate: 400, seconds: 2}
	made, err := s.make()
	if err != nil {
		t.Fatal(err)
	}
	var parts []*record.Recorded
	for k := range s.workers {
		m, dir := made[k%kinds], filepath.Join(s.dir, strconv.Itoa(k+1))
		if err := m.write(dir, k, m.ended); err != nil {
			t.Fatal(err)
		}
		for _, line := range m.lines {
			if err := appendTo(filepath.Join(dir, record.IntervalsFile), line); err != nil {
				t.Fatal(err)
			}
		}
		part, err := record.Open(record.OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	run, _, err := record.Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(s.workers * s.rate * s.seconds); run.Total.Done != want || len(run.Warnings) > 0 {
		t.Errorf("%d operations are merged, want %d; warnings %+v", run.Total.Done, want, run.Warnings)
	}
}
