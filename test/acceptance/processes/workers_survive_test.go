package processes_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/scale"
	"brunt/internal/server/fault/proxy"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// endingPlan writes a plan of 1200 operations in 3 seconds without a server.
func endingPlan(t *testing.T) string {
	t.Helper()
	text := `target: {protocol: noop, addresses: [none]}
interval: 200ms
sessions: 6
queries: [{name: one, command: [PING], weight: 3}, {name: two, command: [PING], weight: 1}]
load: [{constant: {rate: 400, duration: 3s}}]
`
	return shell.Plan(t, text)
}

// numbersOf returns the number of operations of each kind in a record, and in total.
func numbersOf(run *record.Run) (numbers []uint64) {
	for i := range run.Operations {
		numbers = append(numbers, run.Operations[i].Arrivals())
	}
	return append(numbers, run.Total.Arrivals())
}

// Several workers send together exactly what one process sends.
func TestWorkersSendWhatOneProcessSends(t *testing.T) {
	t.Parallel()
	plan := endingPlan(t)
	var want []uint64
	for _, args := range [][]string{nil, {"--workers", "3"}, {"--workers", "3", "--on-lost", "redistribute"}} {
		dir := filepath.Join(t.TempDir(), "bundle")
		args = append([]string{"run", plan, "--quiet", "--bundle", dir}, args...)
		out, _ := exec.Command("brunt", args...).CombinedOutput()
		run := shell.WholeRun(t, dir, "")
		got := numbersOf(run)
		if want == nil {
			want = got
		}
		if len(got) != 3 || got[2] != 1200 || strings.Join(texts(got), " ") != strings.Join(texts(want), " ") {
			t.Errorf("%v: %v operations, want %v\n%s", args, got, want, out)
		}
	}
}

func texts(numbers []uint64) (out []string) {
	for _, n := range numbers {
		out = append(out, strconv.FormatUint(n, 10))
	}
	return out
}

// A coordinator that is killed with SIGKILL can be resumed during the load or after it, and nothing is lost.
func TestAKilledCoordinatorIsResumed(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"during the load": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, dir, _ := leadingProcess(t, endingPlan(t), 3)
			pids := shell.WorkersOf(cmd.Process.Pid)
			shell.Kill(t, cmd)
			journal := filepath.Join(dir, record.WorkersFolder, scale.JournalFile)
			info, err := os.Stat(journal)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("the journal: %v, %v", info, err)
			}
			if late {
				shell.Until(t, "the load is over", func() bool {
					for k := range 3 {
						if b, err := record.Open(record.OS{}, spoolOf(dir, k+1)); err != nil || !b.Run.Complete {
							return false
						}
					}
					return true
				})
			}
			resume := exec.Command("brunt", "resume", dir, "--quiet")
			out, _ := resume.CombinedOutput()
			t.Logf("brunt resume said:\n%s", out)
			run := shell.WholeRun(t, dir, "")
			if n := run.Total.Arrivals(); n != 1200 || len(shell.Lost(run)) > 0 {
				t.Errorf("%d operations, lost %q\n%s", n, shell.Lost(run), out)
			}
			if code := resume.ProcessState.ExitCode(); code != exitcode.Pass && code != exitcode.Invalid {
				t.Errorf("exit %d\n%s", code, out)
			}
			if !bytes.Contains(out, []byte("WORKERS")) {
				t.Errorf("the report has no workers:\n%s", out)
			}
			if _, err := os.Stat(journal); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the journal is left: %v", err)
			}
			for _, pid := range pids {
				shell.Until(t, "no worker is left", func() bool { return syscall.Kill(pid, 0) != nil })
			}
			again, _ := exec.Command("brunt", "resume", dir).CombinedOutput()
			if !bytes.Contains(again, []byte("no coordinator was killed there")) {
				t.Errorf("resumed again: %s", again)
			}
		})
	}
}

// A coordinator can be resumed also if its workers run on other hosts or as Slurm tasks.
func TestAKilledCoordinatorOfHostsIsResumed(t *testing.T) {
	t.Parallel()
	servers, config := testserver.SSH(t, 2)
	cluster := testserver.StartSlurm(t, 2)
	for name, row := range map[string]struct{ env, args []string }{
		"ssh":   {nil, []string{"--on", "ssh", "--hosts", servers[0].Addr + "," + servers[1].Addr, "--ssh-config", config}},
		"slurm": {[]string{cluster.Variable()}, []string{"--on", "slurm"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			args := append([]string{"brunt", "run", endingPlan(t), "--workers", "2", "--bundle", dir}, row.args...)
			cmd, _ := shell.Start(t, row.env, args...)
			shell.UnderWay(t, dir, 2)
			shell.Kill(t, cmd)
			out, _ := exec.Command("brunt", "resume", dir, "--quiet").CombinedOutput()
			run := shell.WholeRun(t, dir, "")
			if n := run.Total.Arrivals(); n != 1200 || len(shell.Lost(run)) > 0 {
				t.Errorf("%d operations, lost %q\n%s", n, shell.Lost(run), out)
			}
		})
	}
}

// The other workers send the share of a lost worker. A worker that stood still and continues after that sends nothing
// of its share, so no operation is sent twice.
func TestALostShareIsRedistributed(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := endingPlan(t)
			text, err := os.ReadFile(plan)
			if err != nil {
				t.Fatal(err)
			}
			change := strings.NewReplacer("duration: 3s", "duration: 6s", "interval: 200ms", "interval: 400ms")
			longer := change.Replace(string(text))
			shell.Put(t, plan, longer)
			cmd, dir, output := leadingProcess(t, plan, 3, "--on-lost", "redistribute")
			pids := shell.WorkersOf(cmd.Process.Pid)
			if signal == syscall.SIGSTOP {
				testserver.Freeze(pids[1])
			} else if err := syscall.Kill(pids[1], signal); err != nil {
				t.Fatal(err)
			}
			untilGiven(t, output, 2)
			if signal == syscall.SIGSTOP {
				testserver.Thaw(pids[1])
			}
			_ = cmd.Wait()
			run := shell.WholeRun(t, dir, output)
			lost := run.Parts[1].Worker
			if lost.LostNs == 0 || lost.GivenNs == 0 {
				t.Errorf("worker 2 is recorded as %+v", lost)
			}
			sum := run.Total.Arrivals()
			for _, p := range run.Parts {
				sum += p.Worker.Missing
			}
			if sum != 2400 {
				t.Errorf("%d operations, with the missing ones %d, want 2400\n%s", run.Total.Arrivals(), sum, shell.Said(t,
					output))
			}
			if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
				t.Errorf("workers are left: %v", left)
			}
			if !strings.Contains(shell.Said(t, output), "lost after ") {
				t.Errorf("the report doesn't say what became of the share:\n%s", shell.Said(t, output))
			}
		})
	}
}

// If the coordinator can't go on, it ends the load of workers that others have started.
func TestALoadThatFailsAtTheCoordinatorEnds(t *testing.T) {
	t.Parallel()
	dir, ticket := filepath.Join(t.TempDir(), "bundle"), filepath.Join(t.TempDir(), "ticket")
	cmd, output := shell.Start(t, nil, "brunt", "run", workerPlan(t, ""), "--workers", "2", "--on", "external",
		"--ticket",
		ticket, "--listen", "127.0.0.1:0", "--bundle", dir)
	shell.Until(t, "the ticket is there", func() bool {
		_, err := os.Stat(ticket)
		return err == nil
	})
	var workers []*exec.Cmd
	for k := range 2 {
		w, _ := shell.Start(t, nil, "brunt", "worker", "--ticket", ticket, "--index", strconv.Itoa(k))
		workers = append(workers, w)
	}
	shell.Until(t, "intervals of both are there", func() bool {
		return shell.Received(dir, 1) > 2 && shell.Received(dir,
			2) > 2
	})
	if err := os.Truncate(filepath.Join(dir, record.WorkersFolder, "1", record.IntervalsFile), 0); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	said, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(said), "has become shorter") {
		t.Errorf("exit %d\n%s", code, said)
	}
	for _, w := range workers {
		_ = w.Wait() // otherwise the load would last for an hour
	}
}

// Workers whose connections to the coordinator are cut for several intervals continue, and nothing that they measured
// in that time is lost.
func TestConnectionsToTheCoordinatorAreCut(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	address := testserver.Address(t)
	between, err := proxy.Listen(proxy.Config{Listen: "127.0.0.1:0", To: address})
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	tickets := filepath.Join(t.TempDir(), "ticket")
	out, err := exec.Command("brunt", "ticket", "--address", between.Address(), "--out", tickets).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", endingPlan(t), "--workers", "2", "--on", "external", "--ticket",
		filepath.Join(tickets, "coordinator.json"), "--listen", address, "--bundle", dir)
	startWorkers(t, filepath.Join(tickets, "worker.json"), 2)
	shell.UnderWay(t, dir, 2)
	cut := &proxy.Rule{Reset: true}
	between.Set(cut)
	shell.Until(t, "both are called lost", func() bool {
		return strings.Contains(shell.Said(t, output), "worker 1 (") && strings.Contains(shell.Said(t, output),
			"worker 2 (")
	})
	between.Clear(cut)
	_ = cmd.Wait()
	run := shell.WholeRun(t, dir, output)
	if n := run.Total.Arrivals(); n != 1200 || len(shell.Lost(run)) > 0 {
		t.Errorf("%d operations, lost %q\n%s", n, shell.Lost(run), shell.Said(t, output))
	}
}
