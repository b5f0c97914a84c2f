package clusters_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/observer"
	"brunt/test/shell"
)

// page is the page into which -write puts the table, between two comments.
const page = "../../../docs/failover.md"

// agreement returns how far the outage that brunt reports may be from the observer's: 2 %, or 20 ms if that is more.
func agreement(outage time.Duration) time.Duration { return max(outage/50, 20*time.Millisecond) }

// outagesLeast is the shortest outage that brunt reports.
const outagesLeast = 20 * time.Millisecond

// observeDeadline is the timeout of an observer's write.
const observeDeadline = 100 * time.Millisecond

// outage is the longest time without a success in one round, by brunt's account and by the observer's.
type outage struct{ reported, observed time.Duration }

func (o outage) difference() time.Duration { return o.reported - o.observed }

// table contains the results of all rounds, with a row for each fault.
type table struct{ strings.Builder }

func (t *table) add(cluster, fault string, rounds []outage) {
	byDifference := func(a, b outage) int { return cmp.Compare(a.difference().Abs(), b.difference().Abs()) }
	slices.SortFunc(rounds, byDifference)
	median, most := rounds[len(rounds)/2], rounds[len(rounds)-1]
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
	fmt.Fprintf(t, "| %s | %s | %s | %s | %s | %s |\n", cluster, fault, ms(median.reported), ms(median.observed),
		ms(median.difference()), ms(most.difference()))
}

const tableHead = `| Cluster | Fault | brunt's outage | observer's | difference | most of ROUNDS |
|---|---|---|---|---|---|
`

// replace replaces the table between two comments of a page.
func replace(t *testing.T, file, table, text string) {
	t.Helper()
	begin, end := "<!-- "+table+": make test-clusters WRITE=1 -->\n", "<!-- end of "+table+" -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table of %s", file, table)
	}
	if err := os.WriteFile(file, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMain lets the watchdogs of runs in this process be brunt, and not run the tests once more.
func TestMain(m *testing.M) { shell.Main(m, 1) }

var (
	write  = flag.Bool("write", false, "put the table of outages into the documentation")
	rounds = flag.Int("rounds", 3, "measure each outage so often, each time on a new cluster")
)

// The outage after a fault at a cluster's leader is as long in brunt's account as for an observer that writes to every
// node every 5 ms. brunt, the observer and the cluster share one machine, and any of them may be late, so the median
// difference of several rounds is tested.
func TestOutagesAgreeWithAnObserver(t *testing.T) {
	all := &table{}
	all.WriteString(strings.Replace(tableHead, "ROUNDS", fmt.Sprint(*rounds), 1))
	for _, c := range []struct {
		cluster, fault string
		start          func(t *testing.T) *cluster
	}{
		{"etcd, 3 members", "leader killed", etcdKilled},
		{"etcd, 3 members", "leader stopped", etcdStopped},
		{"etcd, 3 members", "nothing from the leader arrives, for 1.5 s", etcdMute},
		{"etcd, 3 members", "nothing from its followers arrives, for 1.5 s", etcdDeaf},
		{"Redis Cluster, 3 masters and 3 replicas", "master killed", redisKilled},
		{"PostgreSQL, 3 under Patroni, asynchronous", "primary and its Patroni killed", patroniKilled(false)},
		{"PostgreSQL, 3 under Patroni, synchronous", "primary and its Patroni killed", patroniKilled(true)},
		{"Tarantool, 3 with synchronous replication", "leader killed", tarantoolKilled},
	} {
		t.Run(c.cluster+" "+c.fault, func(t *testing.T) {
			var seen []outage
			for range *rounds {
				t.Run("round", func(t *testing.T) { seen = append(seen, c.start(t).measure(t)) })
			}
			if t.Failed() {
				return
			}
			all.add(c.cluster, c.fault, seen)
			if median := seen[len(seen)/2]; median.difference().Abs() > agreement(median.observed) {
				t.Errorf("an outage of %v, the observer had one of %v", median.reported, median.observed)
			}
		})
	}
	fmt.Print(all)
	if *write && !t.Failed() {
		replace(t, page, "outages", all.String())
	}
}

// load is the common part of all plans. It has many sessions and short deadlines, so that the account is precise.
const load = `
config_name: failover
sessions: 256
retries: 0
late: drop
timeouts: {operation: 100ms, connect: 100ms}
interval: 250ms
account: {deadline: 100ms, tolerance: 20ms, hold: 1s}
thresholds: [errors < 100%%]
load:
  - constant: {rate: 1000, duration: %v}
`

// measure runs a load during which the cluster's leader fails.
func (c *cluster) measure(t *testing.T) outage {
	t.Helper()
	dir := t.TempDir()
	plan, bundle := filepath.Join(dir, "plan.yml"), filepath.Join(dir, "bundle")
	if err := os.WriteFile(plan, []byte(c.plan+fmt.Sprintf(load, c.lasts)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := observer.Start(t, c.nodes, observeDeadline, c.write)
	ended := make(chan string)
	go func() {
		var out, errs bytes.Buffer
		code := cli.Main("test", []string{"brunt", "run", "-c", plan, "--bundle", bundle, "--quiet"},
			strings.NewReader(""), &out, &errs)
		ended <- fmt.Sprintf("exit %d\n%s%s", code, out.String(), errs.String())
	}()
	lines := func() int {
		data, _ := os.ReadFile(filepath.Join(bundle, record.IntervalsFile))
		return bytes.Count(data, []byte("\n"))
	}
	for lines() < 8 {
		select {
		case said := <-ended:
			t.Fatal(said)
		case <-time.After(10 * time.Millisecond):
		}
	}
	heal := c.strike(t)
	said := <-ended
	observed := o.End(outagesLeast)
	heal()
	t.Log(said)
	checkIncidents(t, recordtest.Open(t, bundle).Run)
	reported := shell.Outages(t, bundle)[record.Scope{}]
	t.Logf("reported %v, observed %v", reported, observed)
	if len(reported) != len(observed.All) {
		t.Logf("%d outages are reported, and the observer had %d", len(reported), len(observed.All))
	}
	return outage{longest(reported), longest(observed.All)}
}

// longest returns the length of the longest outage.
func longest(all []observer.Outage) (longest time.Duration) {
	for _, o := range all {
		longest = max(longest, o.Length())
	}
	return longest
}

// checkIncidents fails the test unless an account was made, with an incident that ended.
func checkIncidents(t *testing.T, run *record.Run) {
	t.Helper()
	f := run.Failover
	if len(f.Incidents) == 0 || f.Incidents[0].Never && !f.Incidents[0].Invalid { // invalid: this machine stood still
		t.Errorf("incidents: %+v", f.Incidents)
	}
}
