package processes_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// blockedPipe returns a full pipe, which blocks the next write, and the number of bytes in it.
func blockedPipe(t *testing.T) (r, w *os.File, filling int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for line := bytes.Repeat([]byte("x"), 4096); err == nil; {
		var n int
		n, err = w.Write(line)
		filling += n
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, w, filling
}

// startBlocked starts a command line whose standard output is not read.
func startBlocked(t *testing.T, args ...string) (cmd *exec.Cmd, r *os.File, filling int, errs *bytes.Buffer) {
	t.Helper()
	r, w, filling := blockedPipe(t)
	defer w.Close()
	errs = &bytes.Buffer{}
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = w, errs, t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, r, filling, errs
}

// recorded returns the run in a bundle, the number of its intervals, and the operations in them.
func recorded(t *testing.T, dir string) (run *record.Run, intervals int, done uint64) {
	t.Helper()
	all := recordtest.Intervals(t, dir)
	for i := range all {
		counts := all[i].Totals()
		done += counts.Done
	}
	return recordtest.Open(t, dir).Run, len(all), done
}

// If nobody reads the report lines, the load still ends on time, the record is complete, and the exit code is that of
// the result.
func TestCookRunsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, _, _, errs := startBlocked(t, "brunt", "cook", "-qps", "100", "-interval", "200ms", "-iterations", "15",
		"-threshold", "count > 1000000", "-bundle", dir, "http://"+server.Addr+"/")
	cmd.Wait()
	run, intervals, done := recorded(t, dir)
	// On a busy machine an interval may take longer than planned. Operations that weren't sent by the end are given up.
	if intervals < 10 || done != run.Total.Done || !run.Complete || done+run.Total.Dropped != 300 || done == 0 ||
		run.Interrupted {
		t.Errorf("%d intervals, %d requests, run %+v", intervals, done, run.Verdict)
	}
	want := map[string]int{"fail": exitcode.Threshold, "invalid": exitcode.Invalid}[run.Verdict.Result]
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("exit %d, want %d\n%s", code, want, errs)
	}
	if !strings.Contains(errs.String(), "report lines were not printed: standard output didn't take them\n") {
		t.Errorf("nothing says that lines are missing:\n%s", errs)
	}
}

// A threshold that aborts works even if nobody reads the outputs.
func TestARunAbortsThoughNobodyReads(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	home := t.TempDir()
	text := "queries: [{name: one, command: [PING], weight: 1}]\nthresholds: [{expr: count < 1000, abort_on_fail: true}]\n"
	put(t, filepath.Join(home, "plan.yml"), text)
	dir := filepath.Join(home, "bundle")
	r, w, _ := blockedPipe(t)
	defer r.Close()
	cmd := exec.Command("brunt", "rate", "-c", "plan.yml", "--proto", "noop", "-a", "none", "--rate", "500", "--duration",
		"1h", "--interval", "100ms", "--bundle", dir)
	cmd.Stdout, cmd.Stderr, cmd.Dir = w, w, home
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	cmd.Wait()
	run, _, _ := recorded(t, dir)
	if run.Aborted.IsZero() || !run.Complete || cmd.ProcessState.ExitCode() != verdict.ExitCode(run) {
		t.Errorf("exit %d, aborted %q, %+v", cmd.ProcessState.ExitCode(), run.Aborted, run.Verdict)
	}
}

// A reader that resumes late gets all lines in order.
func TestCookPrintsAllToALateReader(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, r, filling, errs := startBlocked(t, "brunt", "cook", "-qps", "100", "-interval", "200ms", "-iterations", "20",
		"-summary", "1.2", "-bundle", dir, "http://"+server.Addr+"/")
	until(t, "half of the run is recorded", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
		return bytes.Count(b, []byte("\n")) >= 10
	})
	in := bufio.NewReader(r)
	if _, err := io.CopyN(io.Discard, in, int64(filling)); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if !bytes.HasPrefix(out, []byte("# sending 100 GET req/s")) || !bytes.HasSuffix(out, []byte("}\n")) {
		t.Errorf("the beginning or the end is missing:\n%s%s", out, errs)
	}
	found := reportLine.FindAllSubmatch(out, -1)
	if len(found) < 10 {
		t.Fatalf("%d reports\n%s", len(found), out)
	}
	requests := 0
	for i, m := range found {
		good, err := strconv.Atoi(string(m[2]))
		if err != nil || string(m[1]) != strconv.Itoa(i) {
			t.Errorf("report %s stands at place %d", m[1], i)
		}
		requests += good
	}
	run, _, _ := recorded(t, dir)
	if uint64(requests) != run.Total.Done || run.Total.Done+run.Total.Dropped != 400 ||
		strings.Contains(errs.String(), "not printed") {
		t.Errorf("%d requests in the reports\n%s%s", requests, out, errs)
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
		r, w, _ := blockedPipe(t)
		cmd := exec.Command("brunt", append(args, "--bundle", dir, "http://"+server.Addr+"/")...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = w, w, t.TempDir() // neither output is taken
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		until(t, "the load is recorded", func() bool {
			b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
			return bytes.Count(b, []byte("\n")) >= 3
		})
		cmd.Process.Signal(os.Interrupt)
		until(t, "the record is complete", func() bool {
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
