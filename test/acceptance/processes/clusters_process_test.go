package processes_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/load/control"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// If a plan's description of a cluster is impossible, the error is one line with an exit code, before anything is sent.
func TestClustersThatCantBe(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	nobody := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"members": []}`)
	}))
	t.Cleanup(nobody.Close)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	const one = "queries: [{name: one, sql: select 1}]\n"
	const ping = "queries: [{name: ping, command: [PING]}]\n"
	redis := fmt.Sprintf("target: {protocol: redis, addresses: ['%s']}\n%s", s.Addr, ping)
	for _, c := range []struct {
		name, plan string
		code       int
		says       string
	}{
		{"a fault on a process that isn't there", redis + fmt.Sprintf(
			"faults: [{name: stop, at: 1s, for: 1s, process: {do: stop, pid: %d}}]\n", ended.Process.Pid), exitcode.BadPlan,
			fmt.Sprintf("there is no process %d", ended.Process.Pid)},
		{"a proxy's port in use", redis + fmt.Sprintf("proxies: [{name: p, listen: '%s', to: '%s'}]\n"+
			"faults: [{name: hole, at: 1s, for: 1s, network: {do: blackhole, addresses: [p]}}]\n", taken.Addr(), s.Addr),
			exitcode.BadPlan, "address already in use"},
		{"two faults on one node", redis + fmt.Sprintf("faults:\n"+
			"  - {name: stop, at: 1s, for: 2s, process: {do: stop, pid: %[1]d}}\n"+
			"  - {name: kill, at: 2s, for: 2s, process: {do: kill, pid: %[1]d, restart: 'true'}}\n", s.PID), exitcode.BadPlan,
			"both are done to one node"},
		{"a fault on an address that isn't listed", redis +
			"faults: [{name: slow, at: 1s, network: {do: latency, delay: 1ms, addresses: ['10.0.0.9:1']}}]\n",
			exitcode.BadPlan,
			"10.0.0.9:1"},
		{"a zone for an address that isn't listed", fmt.Sprintf("target: {protocol: redis, addresses: ['%s'], balance: "+
			"{mode: nearest, per: request, zone: a, zones: {'%s': a, '10.0.0.9:1': b}}}\n%s", s.Addr, s.Addr, ping),
			exitcode.BadPlan, "10.0.0.9:1, which isn't listed"},
		{"no address in the zone", fmt.Sprintf("target: {protocol: redis, addresses: ['%s'], balance: "+
			"{mode: nearest, per: request, zone: c, zones: {'%s': a}}}\n%s", s.Addr, s.Addr, ping), exitcode.BadPlan,
			"no address is in the zone c"},
		{"a weight that is none", fmt.Sprintf("target: {protocol: redis, addresses: ['%s*0'], balance: weighted}\n%s",
			s.Addr, ping), exitcode.BadPlan, "weight"},
		{"a topology that returns no node", fmt.Sprintf(
			"target: {protocol: pg, topology: {source: patroni, from: '%s'}}\n%s", nobody.URL, one), exitcode.BadPlan,
			"returns no node"},
		{"a topology that can't be asked",
			"target: {protocol: pg, topology: {source: patroni, from: '127.0.0.1:1'}}\n" + one, exitcode.Unreachable,
			"ask Patroni"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, bundle := filepath.Join(dir, "plan.yml"), filepath.Join(dir, "bundle")
			text := c.plan + "load: [{constant: {rate: 10, duration: 5s}}]\n"
			shell.Put(t, path, text)
			cmd, output := shell.Start(t, nil, "brunt", "run", path, "--allow-faults", "--bundle", bundle)
			_ = cmd.Wait()
			out, _ := os.ReadFile(output)
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, out)
			}
			if !strings.Contains(string(out), c.says) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("it isn't a line with %q:\n%s", c.says, out)
			}
			if _, err := os.Stat(bundle); err == nil {
				t.Error("a load that couldn't begin left a folder behind")
			}
		})
	}
}

// Failures of the fault actions during a load are reported, and are not attributed to the server.
func TestFaultsThatGoWrong(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	for _, c := range []struct {
		name, fault string
		during      func(t *testing.T, dir string, brunt int)
		warning     string
	}{
		{"a process that ends meanwhile",
			fmt.Sprintf("{name: stop, at: 300ms, for: 1s, process: {do: stop, pid: %d}}", other.Process.Pid),
			func(t *testing.T, dir string, _ int) {
				shell.Until(t, "it is stopped", func() bool { return processState(other.Process.Pid) == "T" })
				_ = other.Process.Kill()
				_ = other.Wait()
			}, "fault-not-healed"},
		{"a fault that never heals",
			"{name: stay, at: 300ms, for: 300ms, command: {inject: 'true', heal: 'echo not today >&2; exit 3'}}",
			nil, "fault-not-healed"},
		{"a fault that can't be done", "{name: none, at: 300ms, command: {inject: 'exit 3'}}", nil, "fault-failed"},
		{"the watchdog's own death", "{name: touch, at: 1500ms, for: 300ms, command: {inject: 'true', heal: 'true'}}",
			func(t *testing.T, dir string, brunt int) {
				shell.Until(t, "the load has begun", func() bool {
					lines, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
					return len(lines) > 0
				})
				for _, pid := range testserver.Descendants(brunt) {
					line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if strings.Contains(string(line), "heal-faults") {
						_ = syscall.Kill(pid, syscall.SIGKILL)
						return
					}
				}
				t.Error("there is no watchdog")
			}, "watchdog-restarted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			plan := faultPlan(t, s, "  - "+c.fault+"\n")
			cmd, output := shell.Start(t, nil, "brunt", "rate", "-c", plan, "--rate", "100", "--duration", "3s", "--vu", "4",
				"--allow-faults", "--bundle", dir)
			if c.during != nil {
				c.during(t, dir, cmd.Process.Pid)
			}
			_ = cmd.Wait()
			out, _ := os.ReadFile(output)
			if code := cmd.ProcessState.ExitCode(); code != 0 && code != exitcode.Invalid {
				t.Errorf("exit code %d: %s", code, out)
			}
			run, _, done := shell.Recorded(t, dir)
			if done != run.Total.OK || done == 0 {
				t.Errorf("%d of %d succeeded", run.Total.OK, done)
			}
			for i := range run.Warnings {
				if run.Warnings[i].ID == c.warning {
					return
				}
			}
			t.Errorf("no warning %s: %+v\n%s", c.warning, run.Warnings, out)
		})
	}
}

// If a cluster loses its quorum permanently, brunt ends in time and reports that the cluster never recovered.
func TestAClusterThatNeverRecovers(t *testing.T) {
	t.Parallel()
	members := testserver.EtcdCluster(t, 3)
	text := fmt.Sprintf(`target: {protocol: etcd, addresses: ["%s", "%s", "%s"]}
sessions: 32
interval: 100ms
timeouts: {operation: 200ms, connect: 200ms}
late: drop
account: {deadline: 200ms, hold: 500ms}
queries:
  - {name: put, update: k, fields: [v], params: [{type: Integer, range: [1, 9]}, {type: constant, value: x}]}
load: [{constant: {rate: 200, duration: 4s}}]
faults:
  - {name: kill one, at: 2s, process: {do: kill, pid: %d}}
  - {name: kill another, at: 2s, process: {do: kill, pid: %d}}
`, members[0].Addr, members[1].Addr, members[2].Addr, members[1].PID, members[2].PID)
	path := shell.Plan(t, text)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", path, "--allow-faults", "--bundle", dir)
	_ = cmd.Wait()
	out, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Threshold && code != exitcode.Invalid {
		t.Errorf("exit code %d: %s", code, out)
	}
	run, _, _ := shell.Recorded(t, dir)
	if !run.Complete || run.Failover == nil || len(run.Failover.Incidents) == 0 {
		t.Fatalf("the record is complete: %v, failover %+v\n%s", run.Complete, run.Failover, out)
	}
	if last := run.Failover.Incidents[len(run.Failover.Incidents)-1]; !last.Never || last.RecoveredNs != nil {
		t.Errorf("the last incident: %+v", last)
	}
	if !strings.Contains(string(out), "never") {
		t.Errorf("the report doesn't say that it never recovered:\n%s", out)
	}
}

// If a set point can't be reached, the load stays at its lower limit, and brunt says so.
func TestASetPointThatCantBeReached(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`target: {protocol: redis, addresses: ["%s"]}
sessions: 4
interval: 500ms
queries: [{name: ping, command: [PING]}]
load: [{adaptive: {start: 48, min: 40, max: 100, goal: "response.p(50) < 1us", duration: 6s}}]
`, testserver.Redis(t).Addr)
	path := shell.Plan(t, text)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "run", path, "--bundle", dir)
	_ = cmd.Wait()
	out, _ := os.ReadFile(output)
	code := cmd.ProcessState.ExitCode()
	if code != 0 && code != exitcode.Threshold && code != exitcode.Invalid {
		t.Errorf("exit code %d: %s", code, out)
	}
	disturbed := 0
	for _, iv := range recordtest.Intervals(t, dir) {
		if c := iv.Control; c != nil && (c.RatePerS > 48 || c.Reason == string(control.Raise)) {
			t.Errorf("decision %+v", c)
		}
		// The rate isn't decided by what a generator measures that waits for a core.
		if iv.Health.PausedNs > 0 || iv.Health.HeldNs > iv.DurationNs()/10 || iv.Pace.IdleBacklogNs > 0 || iv.Backlog > 1 {
			disturbed++
		}
	}
	// After a disturbance, up to three of twelve decisions aren't about the goal.
	if said := strings.Contains(string(out), "the goal can't be kept"); !said && disturbed <= 1 {
		t.Errorf("the report doesn't say that the goal can't be kept:\n%s", out)
	}
}
