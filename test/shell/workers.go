package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// WorkersOf returns the processes of the workers that a process has started, in the order of their numbers.
func WorkersOf(parent int) []int {
	return slices.DeleteFunc(testserver.Descendants(parent), func(pid int) bool { return !IsWorker(pid) })
}

// IsWorker reports whether a process runs brunt worker.
func IsWorker(pid int) bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return bytes.HasSuffix(line, []byte("\x00worker\x00"))
}

// Received returns how many intervals of worker k, from 1, the coordinator with the bundle dir has received.
func Received(dir string, k int) int {
	return Intervals(filepath.Join(dir, record.WorkersFolder, strconv.Itoa(k)))
}

// UnderWay waits until the coordinator has received two intervals of each worker.
func UnderWay(t *testing.T, dir string, workers int) {
	t.Helper()
	Until(t, "intervals of all workers are there", func() bool {
		for k := range workers {
			if Received(dir, k+1) < 2 {
				return false
			}
		}
		return true
	})
}

// Lost returns the names of the workers that a record reports as lost.
func Lost(run *record.Run) (names []string) {
	for _, p := range run.Parts {
		if p.Worker != nil && p.Worker.LostNs > 0 {
			names = append(names, p.Worker.Name)
		}
	}
	return names
}

// Resume runs brunt resume and returns what it printed, the record, and the exit code.
func Resume(t *testing.T, dir string) (out string, run *record.Run, code int) {
	t.Helper()
	cmd := exec.Command("brunt", "resume", dir)
	text, _ := cmd.CombinedOutput()
	b, err := record.Open(record.OS{}, dir)
	if err != nil || !b.Run.Complete {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), b.Run, cmd.ProcessState.ExitCode()
}
