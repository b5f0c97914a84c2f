package goycsb_test

import (
	"path/filepath"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
)

// If nobody reads the lines of ycsb, the load still ends, and its record is complete.
func TestYCSBRunsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, r, _, _ := shell.StartBlocked(t, "brunt", "ycsb", "run", "basic", "-p", "recordcount=100", "-p",
		"operationcount=20000",
		"-p", "basicdb.verbose=true", "--threads", "4", "--bundle", dir)
	shell.Until(t, "the record is complete", func() bool {
		b, err := record.Open(record.OS{}, dir)
		return err == nil && b.Run.Complete
	})
	r.Close()
	cmd.Wait()
	run, _, done := shell.Recorded(t, dir)
	if run.Total.Done != 20000 || done != 20000 || run.Interrupted {
		t.Errorf("%d operations done, %d in the intervals, want 20000", run.Total.Done, done)
	}
}
