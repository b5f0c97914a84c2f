package processes_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// processState returns the state of a process as in proc(5): S, R, T, …
func processState(pid int) string {
	data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) == 0 {
		return "gone"
	}
	return fields[0]
}

// faultPlan writes a plan with faults that sends requests to a Redis server for an hour.
func faultPlan(t *testing.T, s *testserver.Server, faults string) string {
	t.Helper()
	text := fmt.Sprintf(`target: {protocol: redis, addresses: ["%s"]}
interval: 100ms
sessions: 4
timeouts: {operation: 1m}
queries: [{name: ping, command: [PING]}]
load: [{constant: {rate: 200, duration: 1h}}]
faults:
%s`, s.Addr, faults)
	return shell.Plan(t, text)
}

// faultLines returns the states of faults that a run has recorded so far.
func faultLines(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, record.FaultsFile))
	return string(text)
}

// A stopped server is continued, and the fault is recorded, in whichever way brunt ends during the fault.
func TestFaultsAreHealedHoweverBruntEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]syscall.Signal{
		"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT, "terminated": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testserver.Redis(t)
			dir := filepath.Join(t.TempDir(), "bundle")
			plan := faultPlan(t, s, fmt.Sprintf("  - {name: stop, at: 300ms, process: {do: stop, pid: %d}}\n", s.PID))
			cmd, output := shell.Start(t, nil, "brunt", "run", plan, "--allow-faults", "--bundle", dir)
			shell.Until(t, "the server is stopped", func() bool { return processState(s.PID) == "T" })
			shell.Until(t, "the fault is recorded", func() bool { return strings.Count(faultLines(dir), "\n") == 2 })
			shell.Send(t, cmd.Process.Pid, end)
			shell.Until(t, "the server goes on", func() bool { return processState(s.PID) != "T" })
			_ = cmd.Wait()
			shell.Until(t, "it is known that the fault was healed", func() bool {
				run := recordtest.Result(t, dir)
				return len(run.Faults) == 1 && run.Faults[0].HealedNs > 0
			})
			run := recordtest.Result(t, dir)
			out, _ := os.ReadFile(output)
			f := &run.Faults[0]
			if by := f.HealedBy == record.HealedByWatchdog; by != (end == syscall.SIGKILL) || f.HealedNs < f.DoneNs ||
				f.Undo != "kill -CONT "+strconv.Itoa(s.PID) {
				t.Errorf("fault %+v\n%s", f, out)
			}
			if end != syscall.SIGKILL {
				if _, err := os.Stat(filepath.Join(dir, record.WatchdogFile)); err == nil {
					t.Error("the watchdog's log is left")
				}
				return
			}
			again, told := shell.Start(t, nil, "brunt", "report", dir)
			_ = again.Wait()
			if text, _ := os.ReadFile(told); !strings.Contains(string(text), "healed by the watchdog") {
				t.Errorf("the report doesn't say who healed:\n%s", text)
			}
		})
	}
}

// A black hole in front of a server delays requests, and all of them succeed after it is healed. The record names the
// server and not the proxy.
func TestRequestsSurviveABlackHole(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			s := testserver.Redis(t)
			dir := filepath.Join(t.TempDir(), "bundle")
			plan := faultPlan(t, s, "  - {name: hole, at: 1s, for: 1s, network: {do: blackhole}}\n")
			cmd, output := shell.Start(t, nil, "brunt", "rate", "-c", plan, "--rate", "200", "--duration", "4s", "--vu", "4",
				"--tier", tier, "--allow-faults", "--bundle", dir)
			_ = cmd.Wait()
			out, _ := os.ReadFile(output)
			run, _, _ := shell.Recorded(t, dir)
			if run.Total.Failed > 0 || run.Total.Done == 0 || len(run.Faults) != 1 {
				t.Fatalf("%d failed of %d, faults %+v\n%s", run.Total.Failed, run.Total.Done, run.Faults, out)
			}
			if f := run.Faults[0]; f.HealedNs == 0 || len(f.Addresses) != 1 || f.Addresses[0] != s.Addr {
				t.Errorf("fault %+v", f)
			}
			if run.Targets[0].Address != s.Addr {
				t.Errorf("the record is about %s, want %s", run.Targets[0].Address, s.Addr)
			}
			if longest := time.Duration(run.Total.Response.MaxNs); longest < 900*time.Millisecond {
				t.Errorf("the longest response took %v, and the black hole 1 s", longest)
			}
			if !strings.Contains(string(out), "FAULTS") {
				t.Errorf("the report has no faults:\n%s", out)
			}
		})
	}
}

// An administrator's statements are sent by the plan's protocol. In this test they end the load's connections.
func TestAnAdministratorEndsConnections(t *testing.T) {
	t.Parallel()
	s := testserver.Postgres(t)
	text := fmt.Sprintf(`target: {protocol: pg, addresses: ["%s"], user: %s, database: %s}
sessions: 2
queries: [{name: one, sql: select 1}]
load: [{constant: {rate: 100, duration: 3s}}]
faults:
  - name: end sessions
    at: 1s
    request:
      inject:
        - sql: "select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid() and backend_type = 'client backend'"
`, s.Addr, s.User, s.Database)
	path := shell.Plan(t, text)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, []string{"BRUNT_PASSWORD=" + s.Password}, "brunt", "run", path, "--allow-faults",
		"--bundle", dir)
	_ = cmd.Wait()
	out, _ := os.ReadFile(output)
	run, _, _ := shell.Recorded(t, dir)
	if len(run.Faults) != 1 || run.Faults[0].Error != "" {
		t.Fatalf("faults %+v\n%s", run.Faults, out)
	}
	if run.Targets[0].Reconnects == 0 {
		t.Errorf("no session connected again\n%s", out)
	}
}
