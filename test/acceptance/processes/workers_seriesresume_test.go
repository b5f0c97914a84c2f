package processes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/program"
	"brunt/internal/run/scale"
	"brunt/test/shell"
)

// bundlesBelow returns the folders of the bundles of workers below the folder of a series.
func bundlesBelow(t *testing.T, dir, file string) (all []string) {
	t.Helper()
	for _, below := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, below, record.WorkersFolder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			all = append(all, strings.TrimSuffix(path, filepath.Join(record.WorkersFolder, file)))
		}
	}
	return all
}

// When a series whose coordinator was killed with SIGKILL is resumed, the load under way is ended at its workers, and
// its run is repeated in full.
func TestAKilledSeriesOfWorkersIsResumed(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"repeat": {"repeat", "2", "PLAN", "--cool-down", "0s"},
		"search": {"search", "PLAN", "--trial", "5s", "--warm-up", "200ms", "--pause", "0s", "--trials", "2", "--anyway"},
		"matrix": {"matrix", "PLAN", "--set", "A=1,2", "--reconfigure", "true", "--at", "1", "--warm-up", "0s",
			"--duration",
			"5s", "--repetitions", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := noopPlan(t, "200ms", `load: [{constant: {rate: 100, duration: 5s}}]
`)
			dir := filepath.Join(t.TempDir(), "series")
			args = append([]string{"brunt"}, args...)
			args[slices.Index(args, "PLAN")] = plan
			cmd, output := shell.Start(t, nil, append(args, "--workers", "2", "--bundle", dir)...)
			shell.Until(t, "a load is under way", func() bool {
				under := bundlesBelow(t, dir, scale.JournalFile)
				return len(under) == 1 && shell.Received(under[0], 1) > 2 && shell.Received(under[0], 2) > 2
			})
			pids := shell.WorkersOf(cmd.Process.Pid)
			shell.Kill(t, cmd)
			resume := exec.Command("brunt", "resume", dir)
			said, _ := resume.CombinedOutput()
			codes := []int{exitcode.Pass, exitcode.Invalid, exitcode.Threshold}
			if code := resume.ProcessState.ExitCode(); !slices.Contains(codes, code) {
				before, _ := os.ReadFile(output)
				t.Fatalf("exit %d\n%s\nbefore the kill:\n%s", code, said, before)
			}
			if !strings.Contains(string(said), "is ended: its coordinator was killed") {
				t.Errorf("the load under way isn't named:\n%s", said)
			}
			for _, pid := range pids {
				shell.Until(t, "no worker of the killed load is left", func() bool { return syscall.Kill(pid, 0) != nil })
			}
			if left := bundlesBelow(t, dir, scale.JournalFile); len(left) > 0 {
				t.Errorf("journals are left in %q", left)
			}
			aside, complete := 0, 0
			for _, run := range bundlesBelow(t, dir, "1") {
				if strings.Contains(run, ".killed-") {
					aside++
					continue
				}
				o, err := program.Read(record.OS{}, filepath.Clean(run))
				if err != nil {
					t.Errorf("%v\n%s", err, said)
					continue
				}
				complete++
				if name == "repeat" && o.Run.Total.Arrivals() != 500 {
					t.Errorf("%s has %d operations, want 500", run, o.Run.Total.Arrivals())
				}
			}
			// Searches and comparisons of settings repeat runs that a busy machine made invalid.
			least := map[string]int{"repeat": 2, "matrix": 2, "search": 1}[name]
			if aside != 1 || complete < least || name == "repeat" && complete > least {
				t.Errorf("%d runs were set aside, want 1, %d are complete, want %d\n%s", aside, complete, least, said)
			}
		})
	}
}
