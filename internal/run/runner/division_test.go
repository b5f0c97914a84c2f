package runner

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// A split brain is more primaries than there were by design.
func TestPrimaries(t *testing.T) {
	const p, r = protocol.Primary, protocol.Replica
	type roles = map[string]protocol.Role
	for name, row := range map[string]struct {
		looks []roles
		want  []string // events
	}{
		"one primary":             {[]roles{{"a": p, "b": r}, {"a": p, "b": r}}, nil},
		"a failover":              {[]roles{{"a": p, "b": r}, {"b": r}, {"b": p}, {"a": r, "b": p}}, nil},
		"two primaries by design": {[]roles{{"a": p, "b": p}, {"a": p, "b": p}}, nil},
		"both take writes": {[]roles{{"a": p, "b": r}, {"a": p, "b": p}, {"a": p, "b": p}},
			[]string{"a and b both take writes"}},
		"the old primary returns": {[]roles{{"a": p, "b": r}, {"b": p}, {"a": p, "b": p}, {"a": r, "b": p}},
			[]string{"a and b both take writes", "only b takes writes now"}},
		"two shards, one splits": {[]roles{{"a": p, "b": r, "c": p}, {"b": p, "c": p}, {"a": p, "b": p, "c": p}},
			[]string{"a and b and c both take writes"}},
		"a shard that was down at first": {[]roles{{"a": p}, {"a": p, "b": p}}, nil},
		"nobody answers any more": {[]roles{{"a": p, "b": r}, {"a": p, "b": p}, {}},
			[]string{"a and b both take writes", "no node takes writes now"}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen primaries
			var got []string
			for i, look := range row.looks {
				if e := seen.see(int64(i), look); e != "" {
					got = append(got, e)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("events %q, want %q", got, row.want)
			}
			if (seen.warning().ID != "") != (row.want != nil) {
				t.Errorf("the warning is %+v", seen.warning())
			}
		})
	}
}

// order sends a command to a Redis.
func order(t *testing.T, s *testserver.Server, command string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line[0] == '-' {
		t.Fatalf("%s: %q, %v", command, line, err)
	}
}

// untilDone runs a plan, whose only phase is repeated until the steps have been executed, and reads its writes back.
func untilDone(t *testing.T, text, dir string, s *steps) (*plan.Plan, *record.Run) {
	t.Helper()
	p, err := planfile.Read("plan.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	s.t, s.cancel = t, func() { done.Store(true) }
	r, err := Open(t.Context(), p, Options{Recording: Recording{Dir: dir},
		Hooks: Hooks{Sinks: []measure.Sink{s}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SetUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := func(*measure.Tally) []plan.Phase {
		if done.Load() {
			return nil
		}
		return p.Load
	}
	if err := errors.Join(r.Drive(t.Context(), nil, next), r.Finish()); err != nil {
		t.Fatal(err)
	}
	return p, r.Record
}

const dividedPlan = `
target:
  protocol: redis
  addresses: ["%s", "%s"]
  topology: {source: roles, every: 100ms}
interval: 100ms
tier: %s
sessions: 4
timeouts: {operation: 500ms, connect: 500ms}
account: true
verify: {patience: 2s}
queries:
  - name: put
    route: primary
    command: [SET, "divided:$1", $2]
    params: [{type: Unsigned, range: [1, 100000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "divided:$1"], capture: [0]}, expect: [2]}
load: [{constant: {rate: 200, duration: 300ms}}]
`

// checkDivided fails unless a run found that two addresses have gone separate ways.
func checkDivided(t *testing.T, run *record.Run) {
	t.Helper()
	sum := run.Verified.Sum()
	if run.Verdict.Result != verdict.Fail || sum.Lost == 0 {
		t.Errorf("the verdict is %s with %d lost and %d stale: %q", run.Verdict.Result, sum.Lost, sum.Stale,
			run.Verdict.Texts())
	}
	if len(run.Verified.Divisions) != 1 || run.Verified.Divisions[0].OnlyA == 0 || run.Verified.Divisions[0].OnlyB == 0 ||
		run.Verified.Divisions[0].SinceNs == 0 {
		t.Errorf("divisions: %+v", run.Verified.Divisions)
	}
	if d := run.Verified.Divisions; len(d) == 1 && sum.Lost+sum.Stale != d[0].OnlyA+d[0].OnlyB {
		t.Errorf("%d lost and %d stale, but the addresses differ by %d and %d", sum.Lost, sum.Stale, d[0].OnlyA, d[0].OnlyB)
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool {
		return e.Kind == EventSplitBrain && e.AtNs > 0 && strings.Contains(e.Text, "lacks")
	}) {
		t.Errorf("events: %+v", run.Events)
	}
}

// bothServe is true once two addresses have both served writes in an interval.
func bothServe(iv *measure.Interval) bool {
	return iv.Addresses[0].OK() > 0 && iv.Addresses[1].OK() > 0
}

// Two primaries that both take writes are a failure with a name and a time, although every write succeeded.
func TestTwoPrimariesOfRedis(t *testing.T) {
	t.Parallel()
	onTiers(t, func(t *testing.T, tier string) {
		t.Parallel()
		primary := testserver.Redis(t)
		replica := testserver.Redis(t, testserver.Settings(fmt.Sprintf("replicaof %s %d", primary.Host, primary.Port)))
		writes := 0
		text := fmt.Sprintf(dividedPlan, primary.Addr, replica.Addr, tier)
		_, run := untilDone(t, text, t.TempDir()+"/bundle", (&steps{}).then("it writes",
			func(iv *measure.Interval) bool { return iv.Addresses[0].OK() > 0 }).then("promote", func(*measure.Interval) bool {
			order(t, replica, "REPLICAOF NO ONE")
			return true
		}).then("both serve for a second", func(iv *measure.Interval) bool {
			if bothServe(iv) {
				writes++
			}
			return writes > 12
		}))
		checkDivided(t, run)
		if !slices.ContainsFunc(run.Warnings, func(w record.Warning) bool { return w.ID == "split-brain" }) {
			t.Errorf("no warning of two primaries: %+v, %+v", run.Warnings, run.Events)
		}
	})
}

// A primary of PostgreSQL that was stopped while its standby was promoted goes on to take writes when it continues.
func TestPrimaryContinuesAfterAPromotion(t *testing.T) {
	t.Parallel()
	primary := testserver.Postgres(t)
	primary.Psql(t, "CREATE TABLE event (id bigint PRIMARY KEY, note text)")
	replica := testserver.PostgresReplica(t, primary)
	writes := 0
	_, run := untilDone(t, fmt.Sprintf(`
target:
  protocol: pg
  addresses: ["%s", "%s"]
  user: brunt
  database: postgres
  topology: {source: roles, every: 200ms}
interval: 100ms
sessions: 4
timeouts: {operation: 500ms, connect: 500ms}
account: true
verify: {patience: 2s}
queries:
  - name: put
    route: primary
    sql: insert into event values ($1, $2)
    params: [{type: Integer, range: [1, 100000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {sql: select note from event where id = $1, capture: [note]}, expect: [2]}
load: [{constant: {rate: 200, duration: 300ms}}]
`, primary.Addr, replica.Addr), t.TempDir()+"/bundle", (&steps{}).then("it writes", func(iv *measure.Interval) bool {
		return iv.Addresses[0].OK() > 0
	}).then("promote", func(*measure.Interval) bool {
		primary.Pause()
		replica.Psql(t, "SELECT pg_promote()")
		return true
	}).then("the other serves", func(iv *measure.Interval) bool { return iv.Addresses[1].OK() > 0 }).then("continue",
		func(*measure.Interval) bool {
			primary.Resume()
			return true
		}).then("both serve", func(iv *measure.Interval) bool {
		if bothServe(iv) {
			writes++
		}
		return writes > 3
	}))
	checkDivided(t, run)
}

// Writes that a dead primary took with it are lost, and stay so when it returns with them.
func TestDeadPrimaryReturns(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	replica := testserver.Redis(t, testserver.Settings(fmt.Sprintf("replicaof %s %d", primary.Host, primary.Port)))
	text := fmt.Sprintf(dividedPlan, primary.Addr, replica.Addr, "auto")
	alone := uint64(0)
	dir := t.TempDir() + "/bundle"
	s := (&steps{}).then("it writes", func(iv *measure.Interval) bool { return iv.Addresses[0].OK() > 0 }).then(
		"nothing reaches the replica", func(*measure.Interval) bool {
			order(t, replica, "REPLICAOF 127.0.0.1 1")
			return true
		}).then("the primary goes on", func(iv *measure.Interval) bool {
		alone += iv.Addresses[0].OK()
		return alone > 50
	}).then("it dies", func(*measure.Interval) bool {
		primary.Pause()
		order(t, replica, "REPLICAOF NO ONE")
		return true
	}).then("the other serves", func(iv *measure.Interval) bool { return iv.Addresses[1].OK() > 0 })
	p, run := untilDone(t, text, dir, s)
	if lost := run.Verified.Sum().Lost; lost == 0 || run.Verdict.Result != verdict.Fail {
		t.Errorf("while it is dead: %d lost, %s", lost, run.Verdict.Result)
	}
	primary.Resume()
	recorded, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadBack(t.Context(), recorded, p)
	if err != nil {
		t.Fatal(err)
	}
	sum, was := again.Sum(), run.Verified.Sum().Lost
	if sum.Lost < was || verdict.ExitCodeOfWrites(again) != exitcode.Threshold {
		t.Errorf("when it has returned: %d lost of %d, %d stale, exit %d", sum.Lost, was, sum.Stale,
			verdict.ExitCodeOfWrites(again))
	}
}
