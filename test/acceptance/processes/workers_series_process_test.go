package processes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// noopPlan writes a plan that needs no server. rest is what follows the query, beginning with the load.
func noopPlan(t *testing.T, interval, rest string) string {
	t.Helper()
	return shell.Plan(t, `target: {protocol: noop, addresses: [none]}
sessions: 4
queries: [{name: one, command: [PING], weight: 1}]
interval: `+interval+"\n"+rest)
}

// readBackPlan writes a plan whose writes to a Redis server are read back. rest is what follows the query, beginning
// with the load.
func readBackPlan(t *testing.T, address, rest string) string {
	t.Helper()
	return shell.Plan(t, fmt.Sprintf(`target: {protocol: redis, addresses: ["%s"]}
sessions: 4
interval: 200ms
verify: {patience: 2s}
queries:
  - name: put
    command: [SET, "order:$1", $2]
    params:
      - {name: id, type: Integer, range: [1, 1000000000], distribution: Sequential}
      - {name: note, type: String, range: [8, 8]}
    verify: {read: {command: [GET, "order:$1"], capture: [0]}, key: [id], expect: [note]}
`, address)+rest)
}

// partOf opens the bundle of worker k, from 1.
func partOf(t *testing.T, dir string, k int) *record.Recorded {
	t.Helper()
	return recordtest.Open(t, filepath.Join(dir, record.WorkersFolder, fmt.Sprint(k)))
}

// The coordinator causes the faults of servers once, and each worker causes those of its own connections. Each of them
// is one fault in the record.
func TestFaultsOfALoadOfWorkers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	done := filepath.Join(t.TempDir(), "done")
	plan := shell.Plan(t, fmt.Sprintf(`target: {protocol: http, addresses: ["%s"]}
sessions: 4
interval: 200ms
queries: [{name: get, http: /, weight: 1}]
load: [{constant: {rate: 300, duration: 3s}}]
faults:
  - {name: touch, at: 500ms, for: 1s, command: {inject: "echo in >>%[2]s", heal: "echo out >>%[2]s"}}
  - {name: left, at: 1s, command: {inject: "echo began >>%[2]s", heal: "echo ended >>%[2]s"}}
  - {name: slow, at: 1s, for: 500ms, network: {do: latency, delay: 20ms}}
`, strings.TrimPrefix(server.URL, "http://"), done))
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", plan, "--workers", "2", "--allow-faults", "--bundle", dir)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	text, _ := os.ReadFile(done)
	steps := strings.Fields(string(text)) // those of two faults, which a busy machine may bring into another order
	at := func(step string) int { return slices.Index(steps, step) }
	if len(steps) != 4 || at("in") < 0 || at("out") < at("in") || at("began") < 0 || at("ended") < at("began") {
		t.Errorf("done to servers: %q", text)
	}
	var names []string
	for _, f := range run.Faults {
		names = append(names, f.Name)
		if f.Error != "" || f.BeginNs == 0 || f.HealedNs == 0 {
			t.Errorf("fault %+v", f)
		}
	}
	slices.Sort(names)
	if want := []string{"left", "slow", "touch"}; !slices.Equal(names, want) {
		t.Errorf("faults %q, want %q", names, want)
	}
	if run.Failover == nil || run.Total.Done == 0 {
		t.Errorf("account %+v of %d operations", run.Failover, run.Total.Done)
	}
	if len(run.Targets) != 1 || run.Targets[0].Address != strings.TrimPrefix(server.URL, "http://") {
		t.Errorf("targets %+v", run.Targets)
	}
	for k := range 2 {
		if all := partOf(t, dir, k+1).Run.Faults; len(all) != 1 || all[0].Name != "slow" {
			t.Errorf("worker %d did %+v", k+1, all)
		}
	}
}

// Each worker reads its own writes back, after all loads are over and the coordinator has healed its faults.
func TestWorkersReadBackTheirWrites(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	plan := readBackPlan(t, server.Addr, `load: [{constant: {rate: 100, duration: 2s}}]
faults:
  - name: rogue
    at: 1500ms
    request: {inject: [{command: [DEL, "order:10"]}, {command: [DEL, "order:11"]}]}
`)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", plan, "--workers", "2", "--allow-faults", "--bundle", dir)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if run.Verified == nil {
		t.Fatalf("nothing was read back: %+v", run.Verdict)
	}
	sum := run.Verified.Sum()
	if sum.Acknowledged != run.Total.OK || sum.Lost != 2 || sum.OK != sum.Acknowledged-2 {
		t.Errorf("%d writes succeeded: %+v", run.Total.OK, sum)
	}
	for k := range 2 {
		if v := partOf(t, dir, k+1).Run.Verified; v == nil || v.Sum().Lost != 1 || v.Sum().Acknowledged == 0 {
			t.Errorf("worker %d read back %+v", k+1, v)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Threshold {
		t.Errorf("exit %d, want %d", code, exitcode.Threshold)
	}
}

// controls returns the decisions in a worker's intervals, each once.
func controls(t *testing.T, part *record.Recorded) (all []measure.Control) {
	t.Helper()
	err := part.Intervals(func(iv *measure.Interval) error {
		if c := iv.Control; c != nil && !iv.Drain {
			if n := len(all); n == 0 || all[n-1].RatePerS != c.RatePerS || all[n-1].Reason != c.Reason {
				all = append(all, measure.Control{RatePerS: c.RatePerS, Reason: c.Reason})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Workers that are all lost for a moment go on, and the faults that are due later are injected.
func TestFaultsGoOnWhenLostWorkersAreBack(t *testing.T) {
	t.Parallel()
	done := filepath.Join(t.TempDir(), "done")
	plan := noopPlan(t, "200ms", fmt.Sprintf(`load: [{constant: {rate: 100, duration: 16s}}]
faults: [{name: late, at: 14s, command: {inject: "echo late >>%s"}}]
`, done))
	cmd, dir, output := leadingProcess(t, plan, 2, "--allow-faults")
	pids := shell.WorkersOf(cmd.Process.Pid)
	for _, pid := range pids {
		testserver.Freeze(pid)
	}
	shell.Until(t, "both are called lost", func() bool {
		text := shell.Said(t, output)
		return strings.Contains(text, "worker 1 (") && strings.Contains(text, "worker 2 (")
	})
	for _, pid := range pids {
		testserver.Thaw(pid)
	}
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if n := run.Total.Arrivals(); n != 1600 || len(shell.Lost(run)) > 0 {
		t.Errorf("%d operations, lost %q", n, shell.Lost(run))
	}
	if len(run.Faults) != 1 || run.Faults[0].Error != "" {
		t.Errorf("faults %+v", run.Faults)
	}
	if text, err := os.ReadFile(done); string(text) != "late\n" {
		t.Errorf("done %q, %v", text, err)
	}
}

// The coordinator decides the rates for all workers, and they send residue classes of one schedule.
func TestWorkersFollowOneAdaptiveSchedule(t *testing.T) {
	t.Parallel()
	plan := noopPlan(t, "500ms", `load: [{adaptive: {method: aimd, goal: errors < 1%, start: 100, max: 1000, duration: 5s}}]
`)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", plan, "--workers", "2", "--bundle", dir)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	one, two := partOf(t, dir, 1), partOf(t, dir, 2)
	if a, b := one.Run.Total.Offered, two.Run.Total.Offered; a != b && a != b+1 || a == 0 || run.Total.Offered != a+b {
		t.Errorf("%d and %d arrivals of the workers, %d of the load", a, b, run.Total.Offered)
	}
	first := controls(t, one)
	if len(first) < 2 || first[0].Reason != "start" {
		t.Errorf("decisions %+v", first)
	}
	if second := controls(t, two); !slices.Equal(first, second) {
		t.Errorf("one worker followed %+v\nthe other %+v", first, second)
	}
}

// narrow starts a server that handles one request at a time and takes the given time for each.
func narrow(t *testing.T, each time.Duration) string {
	t.Helper()
	var one sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		one.Lock()
		defer one.Unlock()
		time.Sleep(each)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// searching starts a search with two workers.
func searching(t *testing.T, address string, more ...string) (cmd *exec.Cmd, dir, output string) {
	t.Helper()
	plan := shell.Plan(t, fmt.Sprintf(`target: {protocol: http, addresses: ["%s"]}
sessions: 4
interval: 200ms
queries: [{name: get, http: /, weight: 1}]
load: [{constant: {rate: 100, duration: 2s}}]
`, address))
	dir = filepath.Join(t.TempDir(), "series")
	args := append([]string{"brunt", "search", plan, "--workers", "2", "--trial", "2s", "--warm-up", "200ms",
		"--pause", "0s", "--anyway", "--bundle", dir}, more...)
	cmd, output = shell.Start(t, nil, args...)
	return cmd, dir, output
}

// After a trial that overloads the target, the workers send the recovery phases that the coordinator decides.
func TestASearchOfWorkersLetsTheTargetRecover(t *testing.T) {
	t.Parallel()
	cmd, dir, output := searching(t, narrow(t, 5*time.Millisecond), "--min", "0.2", "--start", "0.2", "--max", "20",
		"--trials", "6", "--max-sessions", "4")
	_ = cmd.Wait()
	recovered := 0
	trials, _ := filepath.Glob(filepath.Join(dir, "trial-*"))
	for _, trial := range trials {
		run := shell.WholeRun(t, trial, output)
		if len(run.Parts) != 2 {
			t.Errorf("%s has %d parts", trial, len(run.Parts))
		}
		for i := range run.Phases {
			p := &run.Phases[i]
			if !strings.HasPrefix(p.Name, "recovery ") {
				continue
			}
			recovered++
			if !p.WarmUp || p.Offered == 0 {
				t.Errorf("%s: phase %+v", trial, p)
			}
		}
	}
	if said, _ := os.ReadFile(output); recovered == 0 {
		t.Errorf("no phase of %d trials let the target recover\n%s", len(trials), said)
	}
}

// A worker that is killed during a search costs one trial. An interrupt ends the search, and it can be resumed with its
// complete trials.
func TestASearchOfWorkersGoesOn(t *testing.T) {
	t.Parallel()
	cmd, dir, output := searching(t, narrow(t, time.Millisecond), "--trials", "40", "--width", "0.01", "--trial", "4s")
	began := func(n int) func() bool {
		return func() bool { return shell.Received(filepath.Join(dir, fmt.Sprintf("trial-%02d", n)), 2) > 2 }
	}
	shell.Until(t, "the first trial runs", began(1))
	pids := shell.WorkersOf(cmd.Process.Pid)
	if len(pids) != 2 {
		t.Fatalf("workers %v", pids)
	}
	shell.Send(t, pids[0], syscall.SIGKILL)
	shell.Until(t, "the search goes on", began(2))
	if first := shell.WholeRun(t, filepath.Join(dir, "trial-01"), output); len(shell.Lost(first)) != 1 {
		t.Errorf("lost %q", shell.Lost(first))
	}
	if said, _ := os.ReadFile(output); !strings.Contains(string(said), "is lost") {
		t.Errorf("the lost worker isn't named:\n%s", said)
	}
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		t.Errorf("exit %d, want %d", code, exitcode.Interrupted)
	}
	if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
	again := exec.Command(cmd.Args[0], append(slices.Clone(cmd.Args[1:]), "--resume", dir)...)
	again.Args = slices.DeleteFunc(again.Args, func(a string) bool { return a == "--bundle" })
	at := slices.Index(again.Args, dir)
	again.Args = slices.Delete(again.Args, at, at+1)
	again.Dir = cmd.Dir
	before, err := os.Stat(filepath.Join(dir, "trial-01", record.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = again.Process.Kill()
		_ = again.Wait()
	})
	shell.Until(t, "the interrupted trial is done again", func() bool {
		_, err := os.Stat(filepath.Join(dir, "trial-02.killed-1"))
		return err == nil && began(2)()
	})
	if after, err := os.Stat(filepath.Join(dir, "trial-01", record.RunFile)); err != nil ||
		!after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the first trial was done again: %v", err)
	}
	_ = again.Process.Signal(os.Interrupt)
	_ = again.Wait()
}

// seriesKinds are the commands of series of two short runs, of a plan and of a campaign with it.
func seriesKinds(t *testing.T) map[string][]string {
	t.Helper()
	plan := noopPlan(t, "200ms", `load: [{constant: {rate: 100, duration: 1s}}]
`)
	campaign := filepath.Join(filepath.Dir(plan), "two.yml")
	text := "campaign: two\nplan: plan.yml\nservice: {reconfigure: 'true'}\nsteps:\n" +
		"  - matrix: {grid: {A: [1, 2]}, at: 1, warm_up: 0, duration: 1s, repetitions: 1}\n"
	shell.Put(t, campaign, text)
	return map[string][]string{
		"search": {"search", plan, "--trial", "1s", "--warm-up", "200ms", "--pause", "0s", "--max", "1", "--trials", "2",
			"--anyway"},
		"repeat": {"repeat", "2", plan, "--cool-down", "0s"},
		"matrix": {"matrix", plan, "--set", "A=1,2", "--reconfigure", "true", "--warm-up", "0s", "--duration", "1s",
			"--repetitions", "1", "--anyway"},
		"campaign": {"campaign", "run", campaign, "--anyway"},
	}
}

// runsSeries tests that each run of each kind of series is sent by two workers, which the flags have an engine start.
func runsSeries(t *testing.T, env []string, flags ...string) {
	t.Helper()
	for name, args := range seriesKinds(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "series")
			cmd, output := shell.Start(t, env, slices.Concat([]string{"brunt"}, args, []string{"--workers", "2", "--bundle",
				dir},
				flags)...)
			_ = cmd.Wait()
			said, _ := os.ReadFile(output)
			switch code := cmd.ProcessState.ExitCode(); code {
			case exitcode.Pass, exitcode.Invalid, exitcode.Threshold:
			default:
				t.Fatalf("exit %d\n%s", code, said)
			}
			runs, parts := 0, 0
			err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if err != nil || filepath.Base(path) != record.RunFile {
					return err
				}
				if filepath.Base(filepath.Dir(filepath.Dir(path))) == record.WorkersFolder {
					parts++
					return nil
				}
				runs++
				if run := shell.WholeRun(t, filepath.Dir(path), output); len(run.Parts) != 2 || run.Total.Done == 0 {
					t.Errorf("%s: %d operations of %d workers", path, run.Total.Done, len(run.Parts))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if runs < 2 || parts != 2*runs {
				t.Errorf("%d runs, %d bundles of workers\n%s", runs, parts, said)
			}
		})
	}
}
