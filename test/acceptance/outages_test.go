package acceptance_test

import (
	"fmt"
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

// When faults follow each other closely, brunt reports the outages that an observer sees, to the time between two
// arrivals and two of its writes. Each belongs to the fault that caused it, and no arrival is counted twice.
func TestOutagesOfCloseFaults(t *testing.T) {
	t.Parallel()
	const stop = "process: {do: stop, pid: %[1]d}}\n"
	const slow = "network: {do: latency, delay: 20ms, addresses: [\"%[2]s\"]}}\n"
	for _, c := range []struct {
		name   string
		nodes  int
		lasts  string
		faults string   // with the PIDs and the addresses of all nodes
		owners []string // of the outages of all arrivals: fault and number
	}{
		{"flapping", 1, "8500ms", "  - {name: flap, at: 1s, for: 1s, every: 1700ms, times: 3, " + stop +
			"  - {name: last, at: 5600ms, for: 1s, " + stop, []string{"flap 1", "flap 2", "flap 3", "last 1"}},
		{"a stop after a harmless fault, and during one", 1, "7s", "  - {name: slow, at: 1s, for: 500ms, " + slow +
			"  - {name: one, at: 1600ms, for: 1s, " + stop + "  - {name: slower, at: 3500ms, for: 3s, " + slow +
			"  - {name: two, at: 4s, for: 1s, " + stop, []string{"one 1", "two 1"}},
		{"of two nodes", 2, "5500ms", "  - {name: one, at: 1s, for: 2s, affects: [\"%[2]s\"], " + stop +
			"  - {name: two, at: 2s, for: 2s, affects: [\"%[4]s\"], process: {do: stop, pid: %[3]d}}\n",
			[]string{"two 1"}},
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
			inTime(t, func() bool { return outagesOnce(t, plan, addrs, c.owners) })
		})
	}
}

// outagesOnce runs a plan and compares its account with an observer's. It is false if the machine was so busy that the
// observer couldn't keep its own times.
func outagesOnce(t *testing.T, plan string, addrs, owners []string) bool {
	t.Helper()
	o := observer.Start(t, len(addrs), outagesDeadline, observer.Redis(t, "observer", addrs...))
	done := shell.Run(t, "brunt run", plan, "--allow-faults", "--quiet")
	seen := o.End(0)
	within := outagesGap + measure.SlotNs*time.Nanosecond + 2*observer.Every + seen.Late
	own := uint64(0)
	for _, iv := range recordtest.Intervals(t, done.Dir) {
		own = max(own, uint64(iv.OwnLag.Max()))
	}
	within += time.Duration(own)
	if within > 250*time.Millisecond {
		t.Logf("this machine was late by %v", within)
		return false
	}
	reported := shell.Outages(t, done.Dir)
	for _, err := range observer.Agree(reported[record.Scope{}], seen.All, outagesLeast, within) {
		t.Error(err)
	}
	for i, addr := range addrs {
		if len(addrs) > 1 {
			for _, err := range observer.Agree(reported[record.Scope{Address: addr}], seen.Nodes[i], outagesLeast, within) {
				t.Errorf("%s: %v", addr, err)
			}
		}
	}
	checkOwners(t, done.Run.Failover, addrs, owners)
	return true
}

// checkOwners fails the test unless the outages of all arrivals belong to the given incidents, those of the i-th
// address to the i-th fault, and the incidents' outages and bad arrivals add up to the run's.
func checkOwners(t *testing.T, f *record.Failover, addrs, owners []string) {
	t.Helper()
	var got []string
	var outNs, bad int64
	for _, o := range f.Outages {
		switch {
		case o.Scope == (record.Scope{}):
			got = append(got, fmt.Sprint(o.Fault, " ", o.Number))
			outNs += o.EndNs - o.StartNs
			bad += int64(o.Bad)
		case o.Address == addrs[0] && o.Fault != "one" || o.Address == addrs[1] && o.Fault != "two":
			t.Errorf("an outage of %s belongs to %q", o.Address, o.Fault)
		}
	}
	if strings.Join(got, ", ") != strings.Join(owners, ", ") {
		t.Errorf("the outages belong to %q, want %q: %+v", got, owners, f.Outages)
	}
	for i := range f.Incidents {
		outNs -= f.Incidents[i].Scopes[0].OutageNs
		bad -= int64(f.Incidents[i].Scopes[0].Bad)
	}
	if outNs != 0 || bad > 0 {
		t.Errorf("the outages are %d ns longer than those of the incidents, with %d more bad arrivals: %+v", outNs, bad,
			f.Incidents)
	}
}
