package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
)

// Intervals returns how many intervals the bundle in a folder has so far; none if there is no bundle yet.
func Intervals(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
	return bytes.Count(text, []byte("\n"))
}

// Recorded returns the run in a bundle, the number of its intervals, and the operations in them.
func Recorded(t *testing.T, dir string) (run *record.Run, intervals int, done uint64) {
	t.Helper()
	all := recordtest.Intervals(t, dir)
	for i := range all {
		counts := all[i].Totals()
		done += counts.Done
	}
	return recordtest.Open(t, dir).Run, len(all), done
}

// WholeRun returns the run in a bundle, which must be complete. If there is none, the output of the process is logged.
func WholeRun(t *testing.T, dir, output string) *record.Run {
	t.Helper()
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		out, _ := os.ReadFile(output)
		t.Fatalf("%v\n%s", err, out)
	}
	if !b.Run.Complete {
		t.Fatal("the merged run isn't complete")
	}
	return b.Run
}

// TargetOf returns the record's entry for an address.
func TargetOf(t *testing.T, run *record.Run, address string) *record.Target {
	t.Helper()
	for i := range run.Targets {
		if run.Targets[i].Address == address {
			return &run.Targets[i]
		}
	}
	t.Fatalf("%s isn't in the record: %+v", address, run.Targets)
	return nil
}
