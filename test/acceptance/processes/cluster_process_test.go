package processes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes/kubernetestest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// onCluster returns the flags for an imitated cluster, whose pods are processes of this machine.
func onCluster(c *kubernetestest.Cluster, more ...string) []string {
	return append([]string{"--on", "kubernetes", "--image", "brunt:test", "--kubeconfig", c.Kubeconfig, "--listen",
		"127.0.0.1:0"}, more...)
}

func pretended(t *testing.T) *kubernetestest.Cluster {
	t.Helper()
	testserver.SkipQuick(t)
	return kubernetestest.New(t, "brunt")
}

// Four pods send the whole load, and only the record remains, neither objects in the cluster nor other files.
func TestWorkersOnKubernetes(t *testing.T) {
	t.Parallel()
	c := pretended(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	args := append([]string{"run", queuePlan(t), "--quiet", "--workers", "4", "--bundle", dir}, onCluster(c)...)
	out, err := exec.Command("brunt", args...).CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), strconv.Itoa(exitcode.Invalid)) {
		t.Fatalf("%v\n%s", err, out)
	}
	run := shell.WholeRun(t, dir, "")
	if run.Total.Done != 60 {
		t.Errorf("%d operations, want 60", run.Total.Done)
	}
	if len(run.Parts) != 4 || len(shell.Lost(run)) > 0 {
		t.Errorf("%d parts, lost %q", len(run.Parts), shell.Lost(run))
	}
	if left := c.Objects(); len(left) > 0 {
		t.Errorf("left in the cluster: %q", left)
	}
	if found, _ := exec.Command("grep", "-rl", "PRIVATE KEY", dir).Output(); len(found) > 0 {
		t.Errorf("a key of the run is kept in %s", found)
	}
	asked := strings.Join(c.Requests(), "\n")
	for _, want := range []string{"POST /apis/batch/v1/namespaces/load/jobs", "POST /api/v1/namespaces/load/secrets",
		"DELETE /apis/batch/v1/namespaces/load/jobs/", "DELETE /api/v1/namespaces/load/secrets/"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the API server wasn't asked for %s:\n%s", want, asked)
		}
	}
}

// A pod that is killed costs only its own share, and its replacement doesn't send that share again.
func TestAKilledPodIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := pretended(t)
	cmd, dir, output := leadingProcess(t, workerPlan(t, ""), 4, onCluster(c)...)
	pids := c.Pods(1)
	if len(pids) != 1 {
		t.Fatalf("pods of worker 2: %v", pids)
	}
	shell.Send(t, pids[0], syscall.SIGKILL)
	shell.Until(t, "the worker is called lost", func() bool {
		return strings.Contains(shell.Said(t, output),
			"worker 2 (")
	})
	shell.Until(t, "its successor has ended without an error", func() bool {
		return slices.Equal(c.Phases(1), []string{"Failed", "Succeeded"})
	})
	before := shell.Received(dir, 1)
	shell.Until(t, "the others go on", func() bool { return shell.Received(dir, 1) > before+2 })
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if lost := shell.Lost(run); len(lost) != 1 || !strings.HasPrefix(lost[0], "2 (") {
		t.Errorf("lost %q", lost)
	}
	var done uint64
	for _, p := range run.Parts {
		done += p.Done
	}
	if done != run.Total.Done {
		t.Errorf("%d operations in all, %d of the parts", run.Total.Done, done)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		t.Errorf("exit %d\n%s", code, shell.Said(t, output))
	}
	if left := c.Objects(); len(left) > 0 {
		t.Errorf("left in the cluster: %q", left)
	}
}

// An interrupt while brunt waits for pods deletes all the objects that it created.
func TestAnInterruptCleansTheCluster(t *testing.T) {
	t.Parallel()
	c := pretended(t)
	c.Pending = func(map[string]any) {}
	dir := filepath.Join(t.TempDir(), "bundle")
	args := append([]string{"brunt", "run", queuePlan(t), "--workers", "2", "--bundle", dir}, onCluster(c)...)
	cmd, output := shell.Start(t, nil, args...)
	shell.Until(t, "the pods are asked for", func() bool {
		return slices.Contains(c.Requests(), "GET /api/v1/namespaces/load/pods")
	})
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		out, _ := os.ReadFile(output)
		t.Errorf("exit %d\n%s", code, out)
	}
	if left := c.Objects(); len(left) > 0 {
		t.Errorf("left in the cluster: %q", left)
	}
	if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
		t.Error("a bundle is left")
	}
}

// pending returns a function that makes pods stay in a state.
func pending(status string) func(map[string]any) {
	return func(pod map[string]any) {
		var s map[string]any
		if err := json.Unmarshal([]byte(status), &s); err != nil {
			panic(err)
		}
		pod["status"] = s
	}
}

// If a cluster can't run the load, the error is one line that says what failed, why, and what to do, and no objects
// remain.
func TestWhatAClusterCantDo(t *testing.T) {
	t.Parallel()
	image := `{"phase":"Pending","containerStatuses":[{"image":"brunt:test","state":{"waiting":{"reason":"ImagePullBackOff",
		"message":"Back-off pulling image"}}}]}`
	node := `{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
		"message":"0/3 nodes are available: 3 Insufficient cpu."}]}`
	for name, row := range map[string]struct {
		spoil func(*kubernetestest.Cluster)
		more  []string
		want  string
	}{
		"no rights": {func(c *kubernetestest.Cluster) { c.Forbidden = []string{"create jobs", "list pods"} }, nil,
			"may not create jobs.batch, list pods in the namespace load"},
		"refused rights": {func(c *kubernetestest.Cluster) { c.Forbidden = []string{"really create secrets"} }, nil,
			"may not create secrets in the namespace load: secrets is forbidden"},
		"no namespace": {nil, []string{"--namespace", "nowhere"}, "there is no namespace nowhere; create it"},
		"no such image": {func(c *kubernetestest.Cluster) { c.Pending = pending(image) }, nil,
			"worker 1, 2: the image brunt:test can't be pulled (ImagePullBackOff): Back-off pulling image"},
		"node too small": {func(c *kubernetestest.Cluster) { c.Pending = pending(node) }, []string{"--join-timeout", "1s"},
			"0/3 nodes are available: 3 Insufficient cpu."},
		"quota": {func(c *kubernetestest.Cluster) {
			c.Quota = "exceeded quota: few, requested: cpu=1, used: cpu=0, limited: cpu=0"
		},
			nil, "worker 1, 2: its pod can't be created: exceeded quota: few, requested: cpu=1, " +
				"used: cpu=0, limited: cpu=0; ask for less with --cpu and --memory, use fewer --workers, or have the quota raised"},
		"pods that hang": {func(c *kubernetestest.Cluster) { c.Pending = func(map[string]any) {} },
			[]string{"--join-timeout", "1s"}, "2 of 2 workers didn't join within 1s: 1, 2; "},
		"no way back": {nil, []string{"--advertise", "127.0.0.1:1", "--join-timeout", "2s"},
			"pods call 127.0.0.1:1"},
		"no context": {nil, []string{"--kube-context", "there"}, "has no context there; there are: here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pretended(t)
			if row.spoil != nil {
				row.spoil(c)
			}
			dir := filepath.Join(t.TempDir(), "bundle")
			args := append([]string{"run", queuePlan(t), "--quiet", "--workers", "2", "--bundle", dir},
				onCluster(c, row.more...)...)
			cmd := exec.Command("brunt", args...)
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), row.want) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("want one line with %q, got\n%s", row.want, out)
			}
			want := exitcode.Unreachable
			if name == "no context" {
				want = exitcode.BadPlan
			}
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("exit %d, want %d", code, want)
			}
			if left := c.Objects(); len(left) > 0 {
				t.Errorf("left in the cluster: %q", left)
			}
			if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
				t.Error("a bundle is left")
			}
		})
	}
}

// Printing a manifest sends no request, and the manifest contains no secret.
func TestAManifestSendsNothing(t *testing.T) {
	t.Parallel()
	c := pretended(t)
	plan := queuePlan(t)
	cmd := exec.Command("brunt", append([]string{"run", plan, "--workers", "2", "-p", "topsecret", "--manifest"},
		onCluster(c)...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"kind: Job\n", "completionMode: Indexed", "image: brunt:test",
		"brunt ticket --address brunt-", "BRUNT_PASSWORD=…"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the manifest lacks %q:\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte("topsecret")) || bytes.Contains(out, []byte("PRIVATE KEY")) {
		t.Errorf("the manifest has a secret:\n%s", out)
	}
	if asked := c.Requests(); len(asked) > 0 {
		t.Errorf("the API server was asked: %q", asked)
	}
}

// startWorkers starts workers by hand. The first one gets its number by a flag, the others by the variables that
// container engines set.
func startWorkers(t *testing.T, ticket string, n int) {
	t.Helper()
	for k := range n {
		args, env := []string{"brunt", "worker", "--ticket", ticket}, []string{"JOB_COMPLETION_INDEX="}
		switch k {
		case 0:
			args = append(args, "--index", "0")
		case 1:
			env = []string{"JOB_COMPLETION_INDEX=1"}
		case 2:
			env = []string{"JOB_COMPLETION_INDEX=", "SLURM_PROCID=0", "SLURM_ARRAY_TASK_ID=5", "SLURM_ARRAY_TASK_MIN=3"}
		}
		shell.Start(t, env, args...)
	}
}

// Workers that the user starts find the coordinator by its ticket, whether the coordinator writes the ticket or it was
// made before.
func TestWorkersOfSomebodyElse(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprint("made before ", before), func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "ticket")
			ticket, mine, listen := filepath.Join(folder, "worker.json"), filepath.Join(folder, "mine.json"), "127.0.0.1:0"
			if before {
				l, err := net.Listen("tcp", listen)
				if err != nil {
					t.Fatal(err)
				}
				listen = l.Addr().String()
				_ = l.Close() // its port is likely to stay free
				mine = filepath.Join(folder, "coordinator.json")
				if out, err := exec.Command("brunt", "ticket", "--address", listen, "--out",
					folder).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			} else {
				ticket = mine
			}
			dir := filepath.Join(t.TempDir(), "bundle")
			cmd, output := shell.Start(t, nil, "brunt", "run", queuePlan(t), "--quiet", "--workers", "3", "--on", "external",
				"--ticket", mine, "--listen", listen, "--bundle", dir)
			shell.Until(t, "the ticket is there", func() bool {
				_, err := scale.ReadTicket(ticket)
				return err == nil
			})
			if info, err := os.Stat(ticket); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the ticket has the mode %v", info.Mode())
			}
			startWorkers(t, ticket, 3)
			_ = cmd.Wait()
			run := shell.WholeRun(t, dir, output)
			if run.Total.Done != 60 || len(run.Parts) != 3 {
				t.Errorf("%d operations of %d parts", run.Total.Done, len(run.Parts))
			}
			if _, err := os.Stat(mine); (err == nil) != before {
				t.Errorf("the coordinator's file after the run: %v", err)
			}
		})
	}
}

// A worker whose number is unknown says how to set it.
func TestWorkersWithoutANumber(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pair, err := scale.NewPair("run", []string{"127.0.0.1:1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ticket := filepath.Join(folder, "worker.json")
	if err := scale.WriteSecret(ticket, &pair.Ticket); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(folder, "empty")
	shell.Put(t, empty, "")
	for name, row := range map[string]struct {
		ticket string
		env    []string
		want   string
	}{
		"no number": {ticket, nil, "no engine has given this worker a number"},
		"bad index": {ticket, []string{"JOB_COMPLETION_INDEX=x"}, `JOB_COMPLETION_INDEX is "x"`},
		"two": {ticket, []string{"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_ARRAY_TASK_ID=1"},
			"say which worker it is with --index"},
		"no ticket": {filepath.Join(folder, "none"), nil, "no such file"},
		"empty":     {empty, nil, "isn't the ticket of a worker"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("brunt", "worker", "--ticket", row.ticket)
			cmd.Env = append(os.Environ(), row.env...)
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), row.want) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("want one line with %q, got\n%s", row.want, out)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.BadPlan {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// Flags that contradict each other are refused before anything is sent or written.
func TestFlagsOfWorkersThatDontFit(t *testing.T) {
	t.Parallel()
	plan := workerPlan(t, "")
	for line, want := range map[string]string{
		"run --workers 2 --on kubernetes":                                     "name the image of brunt with --image",
		"run --workers 2 --on kubernetes --image a --cpu two":                 "--cpu two: write cores",
		"run --workers 2 --image a":                                           "--image is for --on kubernetes",
		"run --workers 2 --ticket t":                                          "--ticket is for --on external",
		"run --workers 2 --on external --listen :1":                           "name the file of the workers' ticket",
		"run --workers 2 --on external --ticket t":                            "say where workers reach this process",
		"run --workers 2 --on external --ticket t --listen :7070":             "names no host",
		"run --workers 2 --on external --ticket t --listen a:1 --advertise a": "--advertise a: write HOST:PORT",
		"run --manifest": "--manifest is for --workers",
		"search --workers 2 --on kubernetes --image a --manifest":             "--manifest is for one load",
		"search --workers 2 --on external --ticket t --listen 127.0.0.1:7070": "--on external is for one load",
		"repeat 2 --upload s3://a/b":                                          "--upload is for one load",
		"ticket":                                                              "say where workers reach the coordinator",
		"ticket --address a":                                                  "--address a: write HOST:PORT",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			if args[0] != "ticket" {
				args = append(args, plan)
			}
			cmd := exec.Command("brunt", args...)
			cmd.Dir = t.TempDir()
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), want) {
				t.Errorf("want %q, got\n%s", want, out)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.BadPlan {
				t.Errorf("exit %d, want %d", code, exitcode.BadPlan)
			}
			if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
