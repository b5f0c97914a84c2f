package processes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// onSlurm runs brunt as a user of a cluster, with a secret in its environment.
func onSlurm(cluster *testserver.Slurm, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), cluster.Variable(), "BRUNT_SECRET_OTHER=topsecret")
	return cmd
}

// The workers are tasks of one step, one on each node, in a new or an existing allocation. Neither keys nor secrets of
// the environment reach Slurm's files.
func TestWorkersOnSlurm(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartSlurm(t, 3)
	plan := queuePlan(t)
	for name, before := range map[string][]string{
		"own allocation": nil,
		"in one":         {"salloc", "--quiet", "--nodes=3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			args := append(slices.Clone(before), "brunt", "run", plan, "--quiet", "--workers", "3", "--on", "slurm",
				"--bundle", dir)
			out, err := onSlurm(cluster, args...).CombinedOutput()
			if err != nil && !strings.Contains(err.Error(), strconv.Itoa(exitcode.Invalid)) {
				t.Fatalf("%v\n%s", err, out)
			}
			run := shell.WholeRun(t, dir, "")
			if run.Total.Done != 60 || len(shell.Lost(run)) > 0 {
				t.Errorf("%d operations, lost %q", run.Total.Done, shell.Lost(run))
			}
			var nodes []string
			for _, p := range run.Parts {
				_, node, _ := strings.Cut(p.Worker.Name, " ")
				nodes = append(nodes, node)
			}
			if slices.Sort(nodes); fmt.Sprint(nodes) != "[(n1) (n2) (n3)]" {
				t.Errorf("workers ran at %q", nodes)
			}
			found, _ := exec.Command("grep", "-rlE", "PRIVATE KEY|topsecret", dir, filepath.Dir(cluster.Conf)).Output()
			if len(found) > 0 {
				t.Errorf("secrets are in %s", found)
			}
		})
	}
}

// If Slurm can't start the workers, this is reported within the time for joining, with Slurm's reason, and nothing is
// left behind.
func TestWorkersThatSlurmDoesntStart(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartSlurm(t, 2)
	busy := onSlurm(cluster, "srun", "--partition=small", "--nodes=1", "--exclusive", "sleep", "600")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = busy.Process.Signal(syscall.SIGTERM)
		_ = busy.Wait()
	}()
	jobs := func() string {
		out, err := onSlurm(cluster, "squeue", "--noheader", "--format=%j %T").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	shell.Until(t, "the partition is full", func() bool { return strings.Contains(jobs(), "sleep RUNNING") })
	for name, row := range map[string]struct{ workers, options, want string }{
		"full": {"1", "--partition=small", "): use fewer workers or another partition " +
			"(--slurm-options), or give more time with --join-timeout"},
		"no partition": {"1", "--partition=none", "worker 1 ended before the load: srun: Unable to allocate resources: " +
			"Invalid partition"},
		"no node": {"1", "--nodelist=n9", "worker 1 ended before the load: srun: "},
		"too few": {"9", "", " is pending (PartitionConfig): use fewer workers "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			cmd := onSlurm(cluster, "brunt", "run", manySessions(t), "--workers", row.workers, "--on", "slurm",
				"--slurm-options", row.options, "--join-timeout", "3s", "--bundle", dir)
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), row.want) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("want one line with %q, got\n%s", row.want, out)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.Unreachable {
				t.Errorf("exit %d", code)
			}
			if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
				t.Error("a bundle is left")
			}
			shell.Until(t, "no job is left", func() bool { return strings.Count(jobs(), "\n") == 1 })
		})
	}
}

// Without a configuration of Slurm, this is reported before tables are created, with what to do.
func TestWorkersWithoutSlurm(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	f.env = []string{"SLURM_CONF="}
	code, said := f.schema("up", "--processes", "2", "--on", "slurm")
	if code != exitcode.Unreachable || strings.Count(said, "\n") != 1 ||
		!strings.HasSuffix(said, "; run brunt on a machine from which srun can submit jobs, or set SLURM_CONF\n") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if n := f.pg.Psql(t, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != "0" {
		t.Errorf("%s tables were created", n)
	}
}

// manySessions writes a plan with enough sessions for 9 workers.
func manySessions(t *testing.T) string {
	t.Helper()
	path := workerPlan(t, "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(text), "sessions: 4", "sessions: 9", 1)
	shell.Put(t, path, more)
	return path
}

// Neither the death of a node's slurmd nor that of a worker ends other workers.
func TestASlurmNodeIsLost(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartSlurm(t, 3)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{cluster.Variable()}, "brunt", "run", workerPlan(t, ""), "--workers", "3",
		"--on", "slurm", "--bundle", dir)
	home := func(k, more int) func() bool {
		from := shell.Received(dir, k)
		return func() bool { return shell.Received(dir, k) > from+more }
	}
	for k := range 3 {
		shell.Until(t, "intervals of all workers are there", home(k+1, 2))
	}
	at := map[string]int{} // numbers of the workers by node
	for k := range 3 {
		_, node, _ := strings.Cut(partOf(t, dir, k+1).Run.Worker.Name, " ")
		at[node] = k + 1
	}
	tasks := slurmTasks(cluster, "n2")
	if len(tasks) != 1 {
		t.Fatalf("processes %v run at n2", tasks)
	}
	cluster.Nodes[1].Kill()
	for _, pid := range tasks {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	shell.Until(t, "the worker is called lost", func() bool {
		return strings.Contains(shell.Said(t, output), fmt.Sprintf("worker %d (n2) is lost", at["(n2)"]))
	})
	for _, node := range []string{"(n1)", "(n3)"} {
		shell.Until(t, "the others go on", home(at[node], 2))
	}
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if lost := shell.Lost(run); len(lost) != 1 || !strings.HasSuffix(lost[0], "(n2)") {
		t.Errorf("lost %q", lost)
	}
}

// slurmTasks returns the process ids of the workers on a node.
func slurmTasks(cluster *testserver.Slurm, node string) (pids []int) {
	here := testserver.Having("SLURMD_NODENAME=" + node)
	for _, pid := range testserver.Having(cluster.Variable()) {
		if slices.Contains(here, pid) && shell.IsWorker(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Each run of a series is a step of its own.
func TestSeriesOnSlurm(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartSlurm(t, 2)
	runsSeries(t, []string{cluster.Variable()}, "--on", "slurm")
}

// The tasks of a step fill the tables that one process would.
func TestSlurmFillsTables(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartSlurm(t, 2)
	f := newFilling(t)
	want := f.full()
	if code, said := f.schema("down"); code != exitcode.Pass {
		t.Fatalf("exit %d\n%s", code, said)
	}
	f.env = []string{cluster.Variable()}
	if got := f.full("--processes", "2", "--on", "slurm"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}
