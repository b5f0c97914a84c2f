package acceptance_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/shell"
)

const diskPlan = "queries: [{name: one, command: [PING], weight: 1}]\n"

// doneIn returns the number of finished operations in a result in JSON.
func doneIn(t *testing.T, text string) uint64 {
	t.Helper()
	var run struct {
		Total struct{ Done uint64 } `json:"total"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&run); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return run.Total.Done
}

// The second of two runs into the same folder is refused, also while the first one is still running.
func TestTwoRunsIntoOneFolder(t *testing.T) {
	t.Parallel()
	plan, dir := shell.File(t, "plan.yml", diskPlan), filepath.Join(t.TempDir(), "bundle")
	args := []string{"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "50", "--duration", "2s", "--bundle",
		dir, "--interval", "100ms"}
	codes := make(chan outcome)
	for range 2 {
		go func() { codes <- brunt(t, args...) }()
	}
	a, b := <-codes, <-codes
	if a.code != 104 {
		a, b = b, a
	}
	if a.code != 104 || !judged(b.code) {
		t.Fatalf("exits %d and %d, want one 104", a.code, b.code)
	}
	oneLine(t, a.err, dir)
	if third := brunt(t, args...); third.code != 104 {
		t.Errorf("a third run: exit %d, want 104", third.code)
	} else {
		oneLine(t, third.err, dir, "already holds a run")
	}
	if run := readRun(t, dir); !run.Complete || run.Total.Done != 100 {
		t.Errorf("the first run's record: complete %v, %d done", run.Complete, run.Total.Done)
	}
}
