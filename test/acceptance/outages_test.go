package acceptance_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/observer"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// The load of all scenes: a bad arrival is one that takes longer than outagesDeadline.
const (
	outagesDeadline = 250 * time.Millisecond
	outagesLeast    = 100 * time.Millisecond
	outagesGap      = 5 * time.Millisecond
	outagesPlan     = `
config_name: outages
target: {protocol: redis, addresses: [%s]}
sessions: 512
retries: 0
late: drop
timeouts: {operation: 250ms, connect: 250ms}
interval: 250ms
account: {deadline: 250ms, tolerance: 100ms, hold: 1s}
queries:
  - {name: set, command: [SET, $1, x], params: [{type: Integer, range: [1, 1000]}]}
load:
  - constant: {rate: 200, duration: %s}
faults:
%s`
)

// quiet says that nothing else runs on this machine.
var quiet = flag.Bool("quiet", false, "compare both ends of each outage with an observer's, on a quiet machine")

// When faults follow each other closely, each outage belongs to the fault that caused it, and no arrival is counted
// twice. On a quiet machine (make test-clusters), the outages are those that an observer sees, to the time between two
// arrivals, two of the observer's writes, and the time by which this machine was late.
func TestOutagesOfCloseFaults(t *testing.T) {
	t.Parallel()
	const stop = "process: {do: stop, pid: %[1]d}}\n"
	const slow = "network: {do: latency, delay: 20ms, addresses: [\"%[2]s\"]}}\n"
	for _, c := range []struct {
		name   string
		nodes  int
		lasts  string
		faults string // with the PIDs and the addresses of all nodes
	}{
		{"flapping", 1, "7800ms", "  - {name: flap, at: 1s, for: 1s, every: 1700ms, times: 3, " + stop +
			"  - {name: last, at: 5600ms, for: 1s, " + stop},
		{"a stop after a harmless fault, and during one", 1, "6s", "  - {name: slow, at: 1s, for: 500ms, " + slow +
			"  - {name: one, at: 1600ms, for: 1s, " + stop + "  - {name: slower, at: 3300ms, for: 2s, " + slow +
			"  - {name: two, at: 3800ms, for: 1s, " + stop},
		{"of two nodes", 2, "5500ms", "  - {name: one, at: 1s, for: 2s, affects: [\"%[2]s\"], " + stop +
			"  - {name: two, at: 2s, for: 2s, affects: [\"%[4]s\"], process: {do: stop, pid: %[3]d}}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var addrs []string
			var values []any
			for range c.nodes {
				server := testserver.Redis(t, testserver.Settings("maxclients 4000", "tcp-backlog 4000"))
				addrs, values = append(addrs, server.Addr), append(values, server.PID, server.Addr)
			}
			plan := shell.File(t, "plan.yml", fmt.Sprintf(outagesPlan, `"`+strings.Join(addrs, `", "`)+`"`, c.lasts,
				fmt.Sprintf(c.faults, values...)))
			o := observer.Start(t, len(addrs), outagesDeadline, observer.Redis(t, "observer", addrs...))
			done := shell.Run(t, "brunt run", plan, "--allow-faults", "--quiet")
			seen := o.End(0)
			within := outagesGap + measure.SlotNs*time.Nanosecond + 2*observer.Every + seen.Late + greatestLag(t, done.Dir)
			reported := shell.Outages(t, done.Dir)
			for i, addr := range addrs {
				scope := record.Scope{Address: addr}
				if len(addrs) == 1 { // it has the outages of all arrivals
					scope = record.Scope{}
				}
				for _, err := range observer.Agree(reported[scope], seen.Nodes[i], outagesLeast, within) {
					if t.Logf("%s: %v", addr, err); *quiet {
						t.Fail()
					}
				}
			}
			checkOwners(t, done.Run, addrs)
		})
	}
}

// greatestLag returns by how much brunt sent late at most.
func greatestLag(t *testing.T, dir string) (most time.Duration) {
	t.Helper()
	for _, iv := range recordtest.Intervals(t, dir) {
		most = max(most, time.Duration(iv.OwnLag.Max()))
	}
	return most
}

// checkOwners fails the test unless the outages and bad arrivals of the incidents are those of the run, and each outage
// that begins while a process is stopped belongs to that fault, if it is at its address.
func checkOwners(t *testing.T, run *record.Run, addrs []string) {
	t.Helper()
	var outNs, bad int64
	for _, o := range run.Failover.Outages {
		if o.Scope == (record.Scope{}) {
			outNs += o.EndNs - o.StartNs
			bad += int64(o.Bad)
		}
		for _, f := range run.Faults {
			caused := f.Do == "stop" && o.StartNs > f.DoneNs && o.StartNs < f.HealedNs-int64(outagesDeadline) &&
				(len(addrs) == 1 || slices.Contains(f.Addresses, o.Address))
			if caused && (o.Fault != f.Name || o.Number != f.Number) {
				t.Errorf("the outage of %q from %d to %d ns belongs to %s %d, and %s %d was in force from %d to %d ns", o.Address,
					o.StartNs, o.EndNs, o.Fault, o.Number, f.Name, f.Number, f.DoneNs, f.HealedNs)
			}
		}
	}
	for i := range run.Failover.Incidents {
		outNs -= run.Failover.Incidents[i].Scopes[0].OutageNs
		bad -= int64(run.Failover.Incidents[i].Scopes[0].Bad)
	}
	if outNs != 0 || bad > 0 {
		t.Errorf("the outages are %d ns longer than those of the incidents, with %d more bad arrivals: %+v", outNs, bad,
			run.Failover.Incidents)
	}
}
