package processes_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/run/scale"
	"brunt/test/shell"
)

// spoolOf returns the bundle that worker k, from 1, writes on its own disk.
func spoolOf(dir string, k int) string {
	return filepath.Join(dir, record.WorkersFolder, strconv.Itoa(k)+".spool")
}

// linesSpooled returns how many intervals worker k, from 1, has written to its own disk.
func linesSpooled(dir string, k int) int {
	text, _ := os.ReadFile(filepath.Join(spoolOf(dir, k), record.IntervalsFile))
	return bytes.Count(text, []byte("\n"))
}

// The watchdog heals the faults of a coordinator that is killed. A resumed coordinator records that they were cut
// short, doesn't inject those whose time has passed, and injects the later ones.
func TestAKilledCoordinatorsFaultsAreResumed(t *testing.T) {
	t.Parallel()
	done := filepath.Join(t.TempDir(), "done")
	// A worker may go 2.5 intervals without a report.
	plan := noopPlan(t, "1s", fmt.Sprintf(`load: [{constant: {rate: 300, duration: 27s}}]
faults:
  - {name: early, at: 200ms, for: 200ms, command: {inject: "echo early >>%[1]s", heal: "echo over >>%[1]s"}}
  - {name: open, at: 2s, for: 15s, command: {inject: "echo open >>%[1]s", heal: "echo shut >>%[1]s"}}
  - {name: between, at: 5s, command: {inject: "echo between >>%[1]s"}}
  - {name: late, at: 25s, for: 500ms, command: {inject: "echo late >>%[1]s", heal: "echo end >>%[1]s"}}
`, done))
	cmd, dir, _ := leadingProcess(t, plan, 2, "--allow-faults")
	have := func(text string) func() bool {
		return func() bool {
			all, _ := os.ReadFile(done)
			return bytes.Contains(all, []byte(text))
		}
	}
	shell.Until(t, "a fault is in effect and the journal says that its command has ended", func() bool {
		journal, _ := os.ReadFile(filepath.Join(dir, record.WorkersFolder, scale.JournalFile))
		return bytes.Count(journal, []byte(`"name":"open"`)) > 1 // noted when it began, and when it was done
	})
	shell.Kill(t, cmd)
	shell.Until(t, "the watchdog has healed it", have("shut"))
	shell.Until(t, "another fault's time has passed", func() bool { return linesSpooled(dir, 1) > 5 })
	out, run, _ := shell.Resume(t, dir)
	text, _ := os.ReadFile(done)
	if string(text) != "early\nover\nopen\nshut\nlate\nend\n" {
		t.Errorf("done: %q\n%s", text, out)
	}
	byName := map[string]record.Fault{}
	for _, f := range run.Faults {
		byName[f.Name] = f
	}
	if len(run.Faults) != 4 || len(byName) != 4 {
		t.Fatalf("faults %+v\n%s", run.Faults, out)
	}
	for _, name := range []string{"early", "open", "late"} {
		f := byName[name]
		if f.BeginNs == 0 || f.HealedNs <= f.BeginNs || f.Error != "" {
			t.Errorf("fault %+v", f)
		}
	}
	if f := byName["open"]; f.HealedNs-f.BeginNs > 14e9 {
		t.Errorf("the fault that was cut short lasted %d ns", f.HealedNs-f.BeginNs)
	}
	if f := byName["between"]; !strings.Contains(f.Error, "had been killed when it was due") {
		t.Errorf("fault %+v", f)
	}
	var ids []string
	for _, w := range run.Warnings {
		ids = append(ids, w.ID)
	}
	if !slices.Contains(ids, "fault-cut-short") || !slices.Contains(ids, "fault-failed") {
		t.Errorf("warnings %q\n%s", ids, out)
	}
	if n := run.Total.Arrivals(); n != 8100 {
		t.Errorf("%d operations, want 8100", n)
	}
	left, _ := filepath.Glob(filepath.Join(dir, record.WorkersFolder, "*.ndjson"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An adaptive phase pauses while no coordinator decides its rate, and goes on at the last rate when one is resumed. All
// workers follow the same decisions.
func TestAKilledCoordinatorsDecisionsAreResumed(t *testing.T) {
	t.Parallel()
	plan := noopPlan(t, "200ms", `load: [{adaptive: {method: aimd, goal: errors < 1%, start: 100, max: 1000, duration: 20s}}]
`)
	cmd, dir, _ := leadingProcess(t, plan, 2)
	shell.Until(t, "it has decided", func() bool { return shell.Received(dir, 1) > 6 })
	shell.Kill(t, cmd)
	before := linesSpooled(dir, 1)
	shell.Until(t, "the workers have no decision", func() bool { return linesSpooled(dir, 1) > before+10 })
	out, run, _ := shell.Resume(t, dir)
	one, two := partOf(t, dir, 1), partOf(t, dir, 2)
	first := controls(t, one)
	if second := controls(t, two); !slices.Equal(first, second) {
		t.Errorf("one worker followed %+v\nthe other %+v\n%s", first, second, out)
	}
	last := 0.0
	for i, c := range first {
		if i > 0 && (c.RatePerS < last || c.Reason == "start") {
			t.Errorf("the rate begins again: %+v", first)
		}
		last = c.RatePerS
	}
	if last != 1000 {
		t.Errorf("the load ended at %g/s, want 1000: %+v\n%s", last, first, out)
	}
	if a, b := one.Run.Total.Offered, two.Run.Total.Offered; a != b && a != b+1 || run.Total.Offered != a+b {
		t.Errorf("%d and %d arrivals of the workers, %d of the load", a, b, run.Total.Offered)
	}
	if len(shell.Lost(run)) > 0 {
		t.Errorf("lost %q\n%s", shell.Lost(run), out)
	}
}
