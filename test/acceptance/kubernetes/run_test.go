package kubernetes_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// role gives the user of a namespace the rights that docs/kubernetes.md lists.
func (s *stage) role(t *testing.T, namespace string) {
	t.Helper()
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace
	role := strings.Replace(documented(t, "kubernetes.md", "kind: Role"), "namespace: load", "namespace: "+namespace, 1)
	if err := s.Create(rbac+"/roles", role); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(rbac+"/rolebindings", fmt.Sprintf(`
metadata: {name: brunt}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: brunt}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, testserver.KubernetesUser)); err != nil {
		t.Fatal(err)
	}
}

// flags returns the flags for using the cluster as a user.
func (s *stage) flags(user, namespace string) []string {
	return []string{"--workers", "4", "--on", "kubernetes", "--image", bruntImage, "--kubeconfig",
		s.Kubeconfig(user, namespace), "--listen", "127.0.0.1:0"}
}

// child is brunt in a separate process.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string // folder of the bundle
	done chan struct{}
	mu   sync.Mutex
	said bytes.Buffer
}

// Write implements io.Writer, for the process.
func (c *child) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Write(b)
}

// output returns what the process has written.
func (c *child) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

// start starts brunt with a folder for its bundle.
func (s *stage) start(t *testing.T, args ...string) *child {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	c := s.command(t, append(args, "--bundle", dir)...)
	c.dir = dir
	return c
}

// command starts brunt.
func (s *stage) command(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, done: make(chan struct{})}
	c.cmd = exec.Command(s.brunt, args...)
	c.cmd.Dir = "../../.."
	c.cmd.Stdout, c.cmd.Stderr = c, c
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // the process's state shows how it ended
		close(c.done)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has usually ended
		<-c.done
		if t.Failed() {
			t.Logf("%q:\n%s", c.cmd.Args[1:], c.output())
		}
	})
	return c
}

// wait waits for the end of the process and returns its exit code.
func (c *child) wait() int {
	c.t.Helper()
	eventually(c.t, "brunt has ended", func() bool {
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
	return c.cmd.ProcessState.ExitCode()
}

// judged fails the test unless the load passed or was invalid, which is possible if this machine was too slow.
func (c *child) judged() {
	c.t.Helper()
	switch code := c.wait(); code {
	case 0, exitcode.Invalid, exitcode.Threshold:
	default:
		c.t.Fatalf("exit code %d", code)
	}
}

// run returns the record that the process has left.
func (c *child) run() *record.Run {
	c.t.Helper()
	return recordtest.Open(c.t, c.dir).Run
}

// underWay waits until the coordinator has received intervals of all workers.
func (c *child) underWay(workers int) {
	c.t.Helper()
	eventually(c.t, "all workers send", func() bool {
		for k := range workers {
			text, _ := os.ReadFile(filepath.Join(c.dir, record.WorkersFolder, strconv.Itoa(k+1), record.IntervalsFile))
			if bytes.Count(text, []byte("\n")) < 2 {
				return false
			}
		}
		return true
	})
}

// empty fails the test if objects of brunt remain in a namespace. It waits a while for pods to end.
func (s *stage) empty(t *testing.T, namespace string) {
	t.Helper()
	for _, kind := range []string{"/apis/batch/v1/namespaces/%s/jobs", "/api/v1/namespaces/%s/secrets"} {
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := s.Get(fmt.Sprintf(kind, namespace), &list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			t.Errorf("%s is left in %s", o.Metadata.Name, fmt.Sprintf(kind, namespace))
		}
	}
	eventually(t, "no pod is left", func() bool { return len(s.pods(t, namespace)) == 0 })
}

// logged starts a PostgreSQL that logs each statement, and returns the flags of the cars example on it.
func logged(t *testing.T, duration string) (pg *testserver.Server, flags []string) {
	t.Helper()
	pg = testserver.Postgres(t, testserver.Settings("log_statement = 'all'", "log_line_prefix = '%p|'"))
	return pg, []string{"rate", "-c", "examples/cars.yml", "--proto", "pg", "-a", pg.Addr, "-u", pg.User,
		"--database", pg.Database, "--rate", "200", "--duration", duration, "--vu", "8"}
}

// executed counts the queries of the load that a server has logged, by their text and arguments.
func executed(t *testing.T, pg *testserver.Server) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pg.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	all, last := map[string]int{}, map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		pid, rest, _ := strings.Cut(line, "|")
		if parameters, ok := strings.CutPrefix(rest, "DETAIL:"); ok && strings.Contains(last[pid], "from cars where") {
			all[last[pid][strings.Index(last[pid], ":"):]+parameters]++
		}
		if last[pid] = ""; strings.HasPrefix(rest, "LOG:  execute") {
			last[pid] = rest[len("LOG:  "):]
		}
	}
	return all
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// more lists what one has more often than other.
func more(one, other map[string]int) (all []string) {
	for query, count := range one {
		if count > other[query] {
			all = append(all, fmt.Sprintf("%d, not %d: %s", count, other[query], query))
		}
	}
	return all
}

// Four pods on four nodes, in a namespace with the strictest policy, send the load that one process would send. The
// record is complete, and no objects are left in the cluster.
func TestFourPodsAreOneLoad(t *testing.T) {
	const namespace = "cars"
	s := onStage(t, namespace, restricted)
	s.role(t, namespace)
	alone, flags := logged(t, "8s")
	single := s.start(t, flags...)
	single.judged()
	pg, flags := logged(t, "8s")
	c := s.start(t, append(flags, s.flags(testserver.KubernetesUser, namespace)...)...)
	nodes := map[string]bool{}
	for _, p := range s.running(t, namespace, 4) {
		nodes[p.Spec.NodeName] = true
	}
	if len(nodes) != 4 {
		t.Errorf("the pods run on %d nodes, want 4", len(nodes))
	}
	c.judged()
	s.empty(t, namespace)
	run, one := c.run(), single.run()
	var parts uint64
	for _, p := range run.Parts {
		parts += p.Done
	}
	if len(run.Parts) != 4 || parts != run.Total.Done || run.Total.Done != one.Total.Done {
		t.Errorf("%d operations in %d parts, %d in all, %d by one process", parts, len(run.Parts), run.Total.Done,
			one.Total.Done)
	}
	for i, o := range run.Operations {
		if other := one.Operations[i]; o.Name != other.Name || o.Done != other.Done {
			t.Errorf("%s: %d, by one process %s: %d", o.Name, o.Done, other.Name, other.Done)
		}
	}
	want, got := executed(t, alone), executed(t, pg)
	if sum(want) == 0 || len(more(want, got)) > 0 || len(more(got, want)) > 0 {
		t.Errorf("%d queries, by one process %d; the difference: %q, %q", sum(got), sum(want), more(got, want),
			more(want, got))
	}
}

// refusal is the message for a worker whose share another process has begun.
const refusal = "has been begun already: it is not sent again"

// A worker whose process is killed is reported as lost. Kubernetes starts another pod for it, which is told to send
// nothing.
func TestASuccessorSendsNothing(t *testing.T) {
	const namespace = "killed"
	s := onStage(t, namespace, restricted)
	s.role(t, namespace)
	alone, flags := logged(t, "25s")
	s.start(t, flags...).judged()
	pg, flags := logged(t, "25s")
	c := s.start(t, append(flags, s.flags(testserver.KubernetesUser, namespace)...)...)
	pods := s.running(t, namespace, 4)
	c.underWay(4)
	victim := pods[0]
	number, _ := strconv.Atoi(victim.index())
	number++
	syscall.Kill(s.nodes.PID(namespace, victim.Metadata.Name), syscall.SIGKILL)
	eventually(t, "the worker is called lost", func() bool {
		return strings.Contains(c.output(), fmt.Sprintf("worker %d (", number))
	})
	eventually(t, "its successor is told to send nothing", func() bool {
		for _, p := range s.pods(t, namespace) {
			if p.index() == victim.index() && p.Metadata.Name != victim.Metadata.Name {
				return strings.Contains(s.nodes.Log(namespace, p.Metadata.Name), refusal)
			}
		}
		return false
	})
	c.judged()
	s.empty(t, namespace)
	run := c.run()
	for i, p := range run.Parts {
		if lost := p.Worker.LostNs > 0; lost != (i == number-1) {
			t.Errorf("worker %d: lost %v", i+1, lost)
		}
	}
	want, got := executed(t, alone), executed(t, pg)
	if twice := more(got, want); sum(want) == 0 || len(twice) > 0 {
		t.Errorf("sent more than once: %q", twice)
	}
	if n := uint64(sum(got)); n < run.Total.Done || run.Total.Done == 0 || n >= uint64(sum(want)) {
		t.Errorf("%d queries executed, %d in the record, %d by one process", n, run.Total.Done, sum(want))
	}
}

// An interrupt ends the load of all workers, keeps the record, and deletes the objects in the cluster.
func TestAnInterruptLeavesNothing(t *testing.T) {
	const namespace = "interrupted"
	s := onStage(t, namespace, restricted)
	s.role(t, namespace)
	_, flags := logged(t, "1h")
	c := s.start(t, append(flags, s.flags(testserver.KubernetesUser, namespace)...)...)
	c.underWay(4)
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(); code != exitcode.Interrupted {
		t.Errorf("exit code %d, want %d", code, exitcode.Interrupted)
	}
	s.empty(t, namespace)
	if run := c.run(); len(run.Parts) != 4 || !run.Complete || !run.Interrupted {
		t.Errorf("%d parts, complete %v, interrupted %v", len(run.Parts), run.Complete, run.Interrupted)
	}
}

// A worker whose pod is deleted, as when a node is drained, is reported as lost at once, and everything that it has
// sent is in the record. Its pod ends within the grace period, and its successor sends nothing.
func TestADeletedPodLosesNothingItSent(t *testing.T) {
	const namespace = "deleted"
	s := onStage(t, namespace, restricted)
	s.role(t, namespace)
	pg, flags := logged(t, "1h")
	c := s.start(t, append(flags, s.flags(testserver.KubernetesUser, namespace)...)...)
	pods := s.running(t, namespace, 4)
	c.underWay(4)
	victim := pods[0]
	if err := s.Delete("/api/v1/namespaces/" + namespace + "/pods/" + victim.Metadata.Name); err != nil {
		t.Fatal(err)
	}
	number, _ := strconv.Atoi(victim.index())
	number++
	eventually(t, "the worker is called lost", func() bool {
		return strings.Contains(c.output(), fmt.Sprintf("worker %d (", number))
	})
	if said := c.output(); !strings.Contains(said, "was told to stop") {
		t.Errorf("it isn't said why:\n%s", said)
	}
	eventually(t, "its successor is told to send nothing", func() bool {
		for _, p := range s.pods(t, namespace) {
			if p.index() == victim.index() && p.Metadata.Name != victim.Metadata.Name {
				return strings.Contains(s.nodes.Log(namespace, p.Metadata.Name), refusal)
			}
		}
		return false
	})
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(); code != exitcode.Interrupted {
		t.Errorf("exit code %d, want %d", code, exitcode.Interrupted)
	}
	s.empty(t, namespace)
	run := c.run()
	if n := uint64(sum(executed(t, pg))); n != run.Total.Done {
		t.Errorf("%d queries executed, %d in the record", n, run.Total.Done)
	}
	if p := run.Parts[number-1]; p.Done == 0 || p.Worker.LostNs == 0 {
		t.Errorf("the worker has %d operations, lost after %d ns", p.Done, p.Worker.LostNs)
	}
}
