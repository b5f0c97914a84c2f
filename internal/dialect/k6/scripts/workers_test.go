package scripts_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
)

// ledScript sends 40 requests under two names, counts them, and has thresholds for them.
const ledScript = `
import http from "k6/http";
import exec from "k6/execution";
import { check } from "k6";
import { Counter } from "k6/metrics";
const seen = new Counter("seen");
export const options = {
	scenarios: { s: { executor: "shared-iterations", vus: 4, iterations: 40 } },
	thresholds: { http_reqs: ["count>=40"], checks: ["rate>=0.9"], seen: [{ threshold: "count<35", abortOnFail: true, delayAbortEval: "1h" }] },
};
export default function () {
	const kind = exec.scenario.iterationInTest % 2;
	const r = http.get(__ENV.URL + "/" + __ENV.FROM_THE_SHELL, { tags: { name: "kind " + kind } });
	check(r, { well: (r) => r.status === 200 });
	seen.add(1);
}`

// Each worker runs its segment of a script with the coordinator's environment, and k6's thresholds are judged over all
// workers.
func TestAScriptOverWorkers(t *testing.T) {
	t.Parallel()
	var good atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/shell" {
			good.Add(1)
		}
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "bundle")
	env := []string{"BRUNT_BUNDLE=" + dir, "FROM_THE_SHELL=shell"}
	cmd, output := shell.Start(t, env, "brunt", "k6", "run", "--workers", "2", "-e", "URL="+server.URL, script(t,
		ledScript))
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if n := good.Load(); n != 40 || run.Total.Done != 40 {
		t.Errorf("%d requests came, %d operations are recorded, want 40", n, run.Total.Done)
	}
	names := run.OperationNames()
	slices.Sort(names)
	both := slices.Contains(names, "GET kind 0") && slices.Contains(names, "GET kind 1")
	if len(run.Parts) != 2 || !both {
		t.Errorf("%d parts, operations %q", len(run.Parts), names)
	}
	for _, p := range run.Parts {
		if p.Done != 20 || p.Worker == nil {
			t.Errorf("part %+v", p)
		}
	}
	rules := map[string]string{}
	for _, r := range run.Thresholds {
		rules[r.Text] = fmt.Sprint(float64(r.Value), " ", r.Pass)
	}
	want := map[string]string{"http_reqs: count>=40": "40 true", "checks: rate>=0.9": "1 true",
		"seen: count<35": "40 false"}
	for rule, result := range want {
		if rules[rule] != result {
			t.Errorf("%s: %s, want %s", rule, rules[rule], result)
		}
	}
	said, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Threshold {
		t.Errorf("exit %d, want %d\n%s", code, exitcode.Threshold, said)
	}
	if strings.Contains(string(said), "have been crossed") {
		t.Errorf("a worker's own thresholds are told:\n%s", said)
	}
}

// endless is a script that runs until it is stopped.
const endless = `
import http from "k6/http";
export const options = { vus: 4, duration: "1h", thresholds: { http_req_failed: ["rate<0.5"] } };
export default function () { http.get(__ENV.URL); }`

// A worker of a script that is killed is named, and an interrupt ends the others with complete records.
func TestAScriptLosesAWorker(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_BUNDLE=" + dir}, "brunt", "k6", "run", "--workers", "2",
		"-e", "URL="+server.URL, script(t, endless))
	shell.UnderWay(t, dir, 2)
	pids := shell.WorkersOf(cmd.Process.Pid)
	if len(pids) != 2 {
		t.Fatalf("workers %v", pids)
	}
	shell.Send(t, pids[0], syscall.SIGKILL)
	before := shell.Received(dir, 2)
	shell.Until(t, "the other goes on", func() bool { return shell.Received(dir, 2) > before+2 })
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if lost := shell.Lost(run); len(lost) != 1 || !strings.HasPrefix(lost[0], "1 (") {
		t.Errorf("lost %q", lost)
	}
	if run.Total.Done == 0 || len(run.Thresholds) != 1 || !run.Thresholds[0].Pass {
		t.Errorf("%d operations, thresholds %+v", run.Total.Done, run.Thresholds)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		t.Errorf("exit %d, want %d", code, exitcode.Interrupted)
	}
	if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
}

// counted is a script whose iterations all end by themselves.
const counted = `
import http from "k6/http";
import { sleep } from "k6";
export const options = {
	scenarios: { s: { executor: "per-vu-iterations", vus: 4, iterations: 40, maxDuration: "10m" } },
	thresholds: { iterations: ["count>=10"] },
};
export default function () { http.get(__ENV.URL); sleep(0.1); }`

// The requests and the iterations of a lost worker of a script are missing, and the result is invalid.
func TestAScriptsLostShareIsMissing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_BUNDLE=" + dir}, "brunt", "k6", "run", "--workers", "2",
		"-e", "URL="+server.URL, script(t, counted))
	shell.UnderWay(t, dir, 2)
	pids := shell.WorkersOf(cmd.Process.Pid)
	if len(pids) != 2 {
		t.Fatalf("workers %v", pids)
	}
	shell.Send(t, pids[0], syscall.SIGKILL)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if n := run.Iterations; n == nil || n.Done != 80 {
		t.Errorf("iterations %+v", n)
	}
	for _, p := range run.Parts {
		if lost := p.Worker.LostNs > 0; lost != (p.Worker.MissingIterations == 80) || lost != (p.Worker.Missing > 0) ||
			lost && p.Done+p.Worker.Missing != 80 {
			t.Errorf("part with %d done: %+v", p.Done, p.Worker)
		}
	}
	reasons := fmt.Sprint(run.Verdict.Reasons)
	if run.Verdict.Result != "invalid" || !strings.Contains(reasons, "lacks about 80 iterations, 50") {
		t.Errorf("verdict %s: %s", run.Verdict.Result, reasons)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Invalid {
		t.Errorf("exit %d, want %d\n%s", code, exitcode.Invalid, shell.Said(t, output))
	}
}

// A threshold with abortOnFail that doesn't hold for all workers together ends the load of all, with k6's exit code.
func TestAThresholdEndsAScriptOfAllWorkers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_BUNDLE=" + dir}, "brunt", "k6", "run", "--workers", "2",
		"-e", "URL="+server.URL, script(t, `
import http from "k6/http";
import { sleep } from "k6";
export const options = { vus: 4, duration: "1h", thresholds: {
	http_reqs: [{ threshold: "count<100", abortOnFail: true }], http_req_failed: ["rate<0.5"],
	"http_req_duration{kind:x}": [{ threshold: "p(95)<60000", abortOnFail: true }],
} };
export default function () { http.get(__ENV.URL, { tags: { kind: "x" } }); sleep(0.05); }`))
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	said, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Threshold {
		t.Errorf("exit %d, want %d\n%s", code, exitcode.Threshold, said)
	}
	if run.Interrupted || run.Aborted.ID != "stop.threshold" {
		t.Errorf("interrupted %v, aborted %+v", run.Interrupted, run.Aborted)
	}
	if len(run.Thresholds) != 3 {
		t.Errorf("thresholds %+v, want 3", run.Thresholds)
	}
	for _, r := range run.Thresholds {
		if breaks := strings.HasPrefix(r.Text, "http_reqs:"); r.Aborted != breaks || r.Pass == breaks {
			t.Errorf("%s: pass %v, aborted %v", r.Text, r.Pass, r.Aborted)
		}
	}
	if lost := shell.Lost(run); len(lost) > 0 || len(run.Parts) != 2 || run.Total.Done < 100 {
		t.Errorf("%d operations of %d parts, lost %q", run.Total.Done, len(run.Parts), lost)
	}
	if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
}

// If a script can't be run, k6's error is reported before any load.
func TestABadScriptOverWorkers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_BUNDLE=" + dir}, "brunt", "k6", "run", "--workers", "2",
		script(t, "export default function ( {"))
	_ = cmd.Wait()
	said, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != 107 || !strings.Contains(string(said), "could not load JS test") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
		t.Error("workers were started")
	}
}

// Workers run their segments of a script to the end without a coordinator, and a resumed one adds them up.
func TestAKilledCoordinatorOfAScriptIsResumed(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	script := script(t, `
import http from "k6/http";
import { sleep } from "k6";
export const options = {
	scenarios: { s: { executor: "shared-iterations", vus: 4, iterations: 80 } },
	thresholds: { http_reqs: ["count<80"] },
};
export default function () {
	http.get(__ENV.URL);
	sleep(0.3);
}`)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, _ := shell.Start(t, []string{"BRUNT_BUNDLE=" + dir}, "brunt", "k6", "run", "--workers", "2", "-e",
		"URL="+server.URL,
		script)
	shell.UnderWay(t, dir, 2)
	shell.Kill(t, cmd)
	out, run, code := shell.Resume(t, dir)
	if n := requests.Load(); n != 80 || run.Total.Done != 80 || len(run.Parts) != 2 || len(shell.Lost(run)) > 0 {
		t.Errorf("%d requests came, %d are recorded of %d parts, want 80\n%s", n, run.Total.Done, len(run.Parts), out)
	}
	if len(run.Thresholds) != 1 || run.Thresholds[0].Pass || float64(run.Thresholds[0].Value) != 80 {
		t.Errorf("thresholds %+v", run.Thresholds)
	}
	if code != exitcode.Threshold {
		t.Errorf("exit %d, want %d\n%s", code, exitcode.Threshold, out)
	}
}
