package processes_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// A threshold that aborts works even if nobody reads the outputs.
func TestARunAbortsThoughNobodyReads(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	home := t.TempDir()
	text := "queries: [{name: one, command: [PING], weight: 1}]\nthresholds: [{expr: count < 1000, abort_on_fail: true}]\n"
	shell.Put(t, filepath.Join(home, "plan.yml"), text)
	dir := filepath.Join(home, "bundle")
	r, w, _ := shell.BlockedPipe(t)
	defer r.Close()
	cmd := exec.Command("brunt", "rate", "-c", "plan.yml", "--proto", "noop", "-a", "none", "--rate", "500", "--duration",
		"1h", "--interval", "100ms", "--bundle", dir)
	cmd.Stdout, cmd.Stderr, cmd.Dir = w, w, home
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	cmd.Wait()
	run, _, _ := shell.Recorded(t, dir)
	if run.Aborted.IsZero() || !run.Complete || cmd.ProcessState.ExitCode() != verdict.ExitCode(run) {
		t.Errorf("exit %d, aborted %q, %+v", cmd.ProcessState.ExitCode(), run.Aborted, run.Verdict)
	}
}

// Two interrupts end a run even while its output is blocked.
func TestInterruptsEndARunThoughNobodyReads(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	for _, args := range [][]string{
		{"cook", "-qps", "50", "-interval", "200ms"},
		{"http", "--rate", "50", "--duration", "1h", "--interval", "200ms"},
	} {
		dir := filepath.Join(t.TempDir(), "bundle")
		r, w, _ := shell.BlockedPipe(t)
		cmd := exec.Command("brunt", append(args, "--bundle", dir, "http://"+server.Addr+"/")...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = w, w, t.TempDir() // neither output is taken
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		shell.Until(t, "the load is recorded", func() bool {
			b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
			return bytes.Count(b, []byte("\n")) >= 3
		})
		cmd.Process.Signal(os.Interrupt)
		shell.Until(t, "the record is complete", func() bool {
			b, err := record.Open(record.OS{}, dir)
			return err == nil && b.Run.Complete
		})
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		r.Close()
		if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
