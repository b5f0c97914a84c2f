package processes_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// workerPlan writes a plan with an open load that needs no server and has no end.
func workerPlan(t *testing.T, more string) string {
	t.Helper()
	return noopPlan(t, "200ms", "load: [{constant: {rate: 400, duration: 1h}}]\n"+more)
}

// leadingProcess starts a load of workers and returns when the coordinator has received intervals of all of them.
func leadingProcess(t *testing.T, plan string, workers int, more ...string) (cmd *exec.Cmd, dir, output string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "bundle")
	args := append([]string{"brunt", "run", plan, "--workers", strconv.Itoa(workers), "--bundle", dir}, more...)
	cmd, output = shell.Start(t, nil, args...)
	shell.UnderWay(t, dir, workers)
	return cmd, dir, output
}

// A worker that is killed, told to stop, or stands still is named, costs only its own share, and the verdict says so.
func TestALostWorkerIsNamed(t *testing.T) {
	t.Parallel()
	const killed, silent, left = "its process ended: signal: killed", "nothing was heard of it for ",
		"the worker's process was told to stop"
	for name, row := range map[string]struct {
		signals []syscall.Signal // to the second worker and those after it
		why     []string
	}{
		"killed":          {[]syscall.Signal{syscall.SIGKILL}, []string{killed}},
		"stopped":         {[]syscall.Signal{syscall.SIGSTOP}, []string{silent}},
		"told to stop":    {[]syscall.Signal{syscall.SIGTERM}, []string{left}},
		"killed, stopped": {[]syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}, []string{killed, silent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := len(row.signals) + 2 // a worker that isn't lost
			cmd, dir, output := leadingProcess(t, workerPlan(t, ""), last)
			pids := shell.WorkersOf(cmd.Process.Pid)
			if len(pids) != last {
				t.Fatalf("workers %v", pids)
			}
			for i, signal := range row.signals {
				shell.Send(t, pids[i+1], signal)
				shell.Until(t, "the worker is called lost", func() bool {
					return strings.Contains(shell.Said(t, output), fmt.Sprintf("worker %d (", i+2))
				})
			}
			before := []int{shell.Received(dir, 1), shell.Received(dir, last)}
			shell.Until(t, "the others go on", func() bool {
				return shell.Received(dir, 1) > before[0]+2 && shell.Received(dir, last) > before[1]+2
			})
			shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
			_ = cmd.Wait()
			run := shell.WholeRun(t, dir, output)
			lost, reasons := shell.Lost(run), run.Verdict.Texts()
			if len(lost) != len(row.signals) || run.Verdict.Result != "invalid" {
				t.Fatalf("lost %q, verdict %s: %q", lost, run.Verdict.Result, reasons)
			}
			for i, why := range row.why {
				named := func(reason string) bool {
					return strings.Contains(reason, fmt.Sprintf("worker %d (", i+2)) && strings.Contains(reason, "("+why)
				}
				if !strings.HasPrefix(lost[i], fmt.Sprintf("%d (", i+2)) || !slices.ContainsFunc(reasons, named) {
					t.Errorf("lost %q, reasons %q: want worker %d because %q", lost, reasons, i+2, why)
				}
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
				t.Errorf("exit %d\n%s", code, shell.Said(t, output))
			}
			var done uint64
			for _, p := range run.Parts {
				done += p.Done
			}
			if done != run.Total.Done || run.Parts[1].Done == 0 {
				t.Errorf("%d operations in all, %d of the parts, %d of the lost one", run.Total.Done, done, run.Parts[1].Done)
			}
			if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
				t.Errorf("workers are left: %v", left)
			}
		})
	}
}

// With --on-lost abort, a lost worker ends the whole load.
func TestALostWorkerAborts(t *testing.T) {
	t.Parallel()
	cmd, dir, output := leadingProcess(t, workerPlan(t, ""), 2, "--on-lost", "abort")
	pids := shell.WorkersOf(cmd.Process.Pid)
	shell.Send(t, pids[0], syscall.SIGKILL)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if why := run.Aborted.String(); !strings.Contains(why, "worker 1 (") || run.Interrupted {
		t.Errorf("aborted %q, interrupted %v", why, run.Interrupted)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Invalid {
		t.Errorf("exit %d, want %d", code, exitcode.Invalid)
	}
}

// A threshold that aborts is judged over all workers together, and no worker applies it by itself.
func TestThresholdsAreOverAllWorkers(t *testing.T) {
	t.Parallel()
	plan := workerPlan(t, "thresholds: [{expr: count < 300, abort_on_fail: true}]\n")
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", plan, "--workers", "2", "--bundle", dir)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if run.Aborted.IsZero() || run.Interrupted || len(run.Thresholds) != 1 || !run.Thresholds[0].Aborted {
		t.Errorf("aborted %q, interrupted %v, thresholds %+v", run.Aborted, run.Interrupted, run.Thresholds)
	}
	for k := range 2 {
		part := partOf(t, dir, k+1)
		if !part.Run.Aborted.IsZero() {
			t.Errorf("worker %d ended its load by itself: %q", k+1, part.Run.Aborted)
		}
	}
}

// If the coordinator is killed, the workers send their shares to the end, and merge combines their bundles into the
// whole.
func TestWorkersOutliveTheirCoordinator(t *testing.T) {
	t.Parallel()
	plan := workerPlan(t, "")
	cmd, dir, _ := leadingProcess(t, plan, 2, "--scale", "1")
	pids := shell.WorkersOf(cmd.Process.Pid)
	shell.Kill(t, cmd)
	before := []int{linesSpooled(dir, 1), linesSpooled(dir, 2)}
	shell.Until(t, "both workers go on", func() bool {
		return linesSpooled(dir, 1) > before[0]+3 && linesSpooled(dir, 2) > before[1]+3
	})
	spools := []string{spoolOf(dir, 1), spoolOf(dir, 2)}
	for _, pid := range pids {
		shell.Send(t, pid, syscall.SIGINT)
	}
	shell.Until(t, "the bundles are complete", func() bool {
		for _, s := range spools {
			if b, err := record.Open(record.OS{}, s); err != nil || !b.Run.Complete {
				return false
			}
		}
		return true
	})
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGINT) // they wait for their coordinator
	}
	shell.Until(t, "both workers have ended", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
	whole := filepath.Join(t.TempDir(), "whole")
	merge := exec.Command("brunt", "merge", spools[0], spools[1], "--bundle", whole, "--output", "csv")
	if out, err := merge.CombinedOutput(); merge.ProcessState.ExitCode() == exitcode.BadPlan {
		t.Fatalf("%v\n%s", err, out)
	}
	run := shell.WholeRun(t, whole, "")
	if run.Parts[0].Done == 0 || run.Parts[0].Done+run.Parts[1].Done != run.Total.Done {
		t.Errorf("%d operations, parts %+v", run.Total.Done, run.Parts)
	}
}

// Secrets reach the workers, but appear in no command line and in no record.
func TestWorkersKeepSecrets(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	var wrong atomic.Int64
	lines := make(chan []byte, 1)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			out, _ := exec.Command("ps", "axww", "-o", "args").Output()
			lines <- out
		})
		if r.Header.Get("Authorization") != "Bearer topsecret" {
			wrong.Add(1)
		}
	}))
	defer server.Close()
	text := fmt.Sprintf(`target: {protocol: http, addresses: ["%s"]}
sessions: 4
queries:
  - name: get
    count: 40
    http: {method: GET, path: /, headers: {Authorization: "***"}}
`, strings.TrimPrefix(server.URL, "http://"))
	plan := shell.Plan(t, text)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_SECRET_AUTHORIZATION=Bearer topsecret"}, "brunt", "run", plan,
		"--workers", "2",
		"--bundle", dir)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if run.Total.Done != 40 || wrong.Load() > 0 {
		t.Errorf("%d requests, %d without the secret", run.Total.Done, wrong.Load())
	}
	if args := <-lines; bytes.Contains(args, []byte("topsecret")) || !bytes.Contains(args, []byte("brunt worker")) {
		t.Errorf("command lines:\n%s", args)
	}
	if found, _ := exec.Command("grep", "-rl", "-e", "topsecret", "-e", "PRIVATE KEY", dir).Output(); len(found) > 0 {
		t.Errorf("secrets are in %s", found)
	}
}

// If the coordinator's port is taken, it says so before anything is sent or kept.
func TestTheCoordinatorsPortIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd := exec.Command("brunt", "run", workerPlan(t, ""), "--workers", "2", "--listen", l.Addr().String(),
		"--bundle", dir)
	out, _ := cmd.CombinedOutput()
	want := fmt.Sprintf("brunt: the coordinator can't listen at %s: the port is in use; name another with --listen\n",
		l.Addr())
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.BadPlan {
		t.Errorf("exit %d, want %d", code, exitcode.BadPlan)
	}
	if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
		t.Error("workers' bundles are left")
	}
}
