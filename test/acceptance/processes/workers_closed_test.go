package processes_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"

	"github.com/redis/go-redis/v9"
)

// countingPlan writes a plan with a load for a Redis that counts how often each operation number arrives.
func countingPlan(t *testing.T, server *testserver.Server, tier, load, more string) string {
	t.Helper()
	return shell.Plan(t, fmt.Sprintf(`target: {protocol: redis, addresses: ["%s"]}
sessions: 6
interval: 1s
tier: %s
queries:
  - name: count
    command: [INCR, "n:$1"]
    think: 8ms
    params: [{type: Unsigned, range: [1, 1000000000], distribution: Sequential}]
    %s
%s
`, server.Addr, tier, more, load))
}

// redisOf returns a client of a Redis.
func redisOf(t *testing.T, server *testserver.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { c.Close() })
	return c
}

// arrivals returns how many operation numbers have arrived at a Redis.
func arrivals(t *testing.T, server *testserver.Server) int {
	t.Helper()
	n, err := redisOf(t, server).DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// sentTwice returns how many operation numbers have arrived at a Redis more than once.
func sentTwice(t *testing.T, server *testserver.Server) int {
	t.Helper()
	n, err := redisOf(t, server).Eval(t.Context(), "local n=0; for _,k in ipairs(redis.call('KEYS','n:*')) do "+
		"if redis.call('GET',k)~='1' then n=n+1 end end; return n", nil).Int()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// closedLoad is a load of closed phases; operations is their number if they are counted.
type closedLoad struct {
	tier, load, more string
	operations       int
}

func closedLoads() map[string]closedLoad {
	return map[string]closedLoad{
		"operations on event loops":   {"codec", "load: [{closed: {operations: 9000}}]", "", 9000},
		"a queue on the library tier": {"library", "", "count: 9000", 9000},
		"a time on event loops":       {"codec", "load: [{closed: {duration: 10s}}]", "", 0},
		"a time, then arrivals": {"library",
			"load: [{closed: {duration: 9s}}, {constant: {rate: 200, duration: 2s}}]", "", 0},
	}
}

// The other workers send what a lost worker was not allowed to send yet, with its sessions. Nothing is sent twice, also
// if the worker only stood still and continues when others have its share.
func TestClosedSharesAreRedistributed(t *testing.T) {
	t.Parallel()
	for name, row := range closedLoads() {
		for what, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				server := testserver.Redis(t)
				plan := countingPlan(t, server, row.tier, row.load, row.more)
				cmd, dir, output := leadingProcess(t, plan, 3, "--on-lost", "redistribute")
				pids := shell.WorkersOf(cmd.Process.Pid)
				before := arrivals(t, server)
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
				if n := sentTwice(t, server); n > 0 {
					t.Errorf("%d operations were sent twice\n%s", n, shell.Said(t, output))
				}
				arrived := arrivals(t, server)
				if arrived <= before {
					t.Errorf("%d operations had arrived before the loss, %d in total", before, arrived)
				}
				lost := run.Parts[1].Worker
				if lost.LostNs == 0 || lost.GivenNs == 0 {
					t.Errorf("worker 2 is recorded as %+v", lost)
				}
				sum, missing := int(run.Total.Arrivals()), uint64(0)
				for _, p := range run.Parts { // others may be lost, too, when the machine is busy
					missing += p.Worker.Missing
				}
				if sum += int(missing); row.operations > 0 && sum != row.operations {
					t.Errorf("%d operations, with the missing ones %d, want %d\n%s", run.Total.Arrivals(), sum, row.operations,
						shell.Said(t, output))
				}
				if most := uint64(len(shell.Lost(run)) * 1024); missing > most {
					t.Errorf("%d operations are missing, more than the %d of two blocks\n%s", missing, most, shell.Said(t,
						output))
				}
				if !strings.Contains(shell.Said(t, output), "lost after ") {
					t.Errorf("the report doesn't say what became of the share:\n%s", shell.Said(t, output))
				}
				if left := shell.WorkersOf(cmd.Process.Pid); len(left) > 0 {
					t.Errorf("workers are left: %v", left)
				}
			})
		}
	}
}

// Receivers use as many sessions as all workers had.
func TestSessionsOfLostWorkersMove(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	plan := countingPlan(t, server, "codec", "load: [{closed: {duration: 12s}}]", "")
	cmd, dir, output := leadingProcess(t, plan, 3, "--on-lost", "redistribute")
	shell.Send(t, shell.WorkersOf(cmd.Process.Pid)[0], syscall.SIGKILL)
	untilGiven(t, output, 1)
	shell.Until(t, "the sessions have moved", func() bool { return sending(t, server) == 6 })
	_ = cmd.Wait()
	if lost := shell.Lost(shell.WholeRun(t, dir, output)); len(lost) != 1 {
		t.Errorf("lost are %q", lost)
	}
}

// sending returns how many connections to a Redis have counted an operation.
func sending(t *testing.T, server *testserver.Server) int {
	t.Helper()
	list, err := redisOf(t, server).ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "cmd=incr")
}

// untilGiven waits until the others send the share of a worker.
func untilGiven(t *testing.T, output string, worker int) {
	t.Helper()
	given := regexp.MustCompile(fmt.Sprintf(`the share of worker %d \([^)]*\) is sent by the other`, worker))
	shell.Until(t, "the share is given away", func() bool { return given.MatchString(shell.Said(t, output)) })
}

// A load of a counted number of operations is exactly that of one process if no worker is lost, and if the coordinator
// is killed and resumed.
func TestAQueueIsSentOnceWhoeverLeadsIt(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"one coordinator": false, "a resumed one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.Redis(t)
			plan := countingPlan(t, server, "codec", "load: [{closed: {operations: 3000}}]", "")
			cmd, dir, output := leadingProcess(t, plan, 3, "--on-lost", "redistribute")
			if killed {
				shell.Kill(t, cmd)
				out, _ := exec.Command("brunt", "resume", dir, "--quiet").CombinedOutput()
				output = filepath.Join(t.TempDir(), "resumed")
				shell.Put(t, output, string(out))
			} else {
				_ = cmd.Wait()
			}
			run := shell.WholeRun(t, dir, output)
			if n := run.Total.Arrivals(); n != 3000 || len(shell.Lost(run)) > 0 {
				t.Errorf("%d operations, lost %q\n%s", n, shell.Lost(run), shell.Said(t, output))
			}
			if n, twice := arrivals(t, server), sentTwice(t, server); n != 3000 || twice > 0 {
				t.Errorf("%d operations arrived, %d of them twice", n, twice)
			}
		})
	}
}

// Writes that no worker knows in advance can't be read back, and brunt says so before anything is sent.
func TestClosedSharesAreNotRedistributedAndReadBack(t *testing.T) {
	t.Parallel()
	plan := readBackPlan(t, "127.0.0.1:1", "load: [{closed: {duration: 2s}}]\n")
	cmd := exec.Command("brunt", "run", plan, "--workers", "2", "--on-lost", "redistribute")
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), "the writes of closed phases can't be read back then") {
		t.Errorf("got %s", out)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitcode.BadPlan {
		t.Errorf("exit %d", code)
	}
}

// A coordinator that was killed together with a worker is resumed. It knows what that worker was allowed to send, and
// gives the rest to the others.
func TestACoordinatorIsResumedWithoutAWorker(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t)
	plan := countingPlan(t, server, "codec", "load: [{closed: {operations: 6000}}]", "")
	cmd, dir, _ := leadingProcess(t, plan, 3, "--on-lost", "redistribute")
	pids := shell.WorkersOf(cmd.Process.Pid)
	shell.Send(t, cmd.Process.Pid, syscall.SIGKILL)
	shell.Send(t, pids[1], syscall.SIGKILL)
	_ = cmd.Wait()
	out, _ := exec.Command("brunt", "resume", dir, "--quiet").CombinedOutput()
	run := shell.WholeRun(t, dir, "")
	if lost := run.Parts[1].Worker; lost.LostNs == 0 || lost.GivenNs == 0 {
		t.Errorf("worker 2 is recorded as %+v\n%s", lost, out)
	}
	sum := run.Total.Arrivals()
	for _, p := range run.Parts {
		sum += p.Worker.Missing
	}
	if sum != 6000 {
		t.Errorf("%d operations, with the missing ones %d, want 6000\n%s", run.Total.Arrivals(), sum, out)
	}
	if n := sentTwice(t, server); n > 0 {
		t.Errorf("%d operations were sent twice\n%s", n, out)
	}
}
