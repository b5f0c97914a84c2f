package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/server/target"
	"brunt/test/testserver"
)

// steps are executed one after the other during a load. Each step is called after every interval until it returns true.
// The load ends after the last step.
type steps struct {
	t      *testing.T
	names  []string
	do     []func(iv *measure.Interval) bool
	cancel context.CancelFunc
	cuts   int
}

// patience is the maximum number of intervals of 100 ms for a step.
const patience = 600

// Interval implements measure.Sink.
func (s *steps) Interval(iv *measure.Interval) error {
	if len(s.do) == 0 {
		return nil
	}
	if s.cuts++; s.cuts > patience {
		s.t.Errorf("%s: not within %d intervals", s.names[0], patience)
		s.do = nil
		s.cancel()
		return nil
	}
	if s.do[0](iv) {
		s.names, s.do, s.cuts = s.names[1:], s.do[1:], 0
		if len(s.do) == 0 {
			s.cancel()
		}
	}
	return nil
}

func (s *steps) then(name string, do func(iv *measure.Interval) bool) *steps {
	s.names, s.do = append(s.names, name), append(s.do, do)
	return s
}

// during runs a plan and executes the steps while it runs.
func during(t *testing.T, text string, s *steps) *record.Run {
	t.Helper()
	p, err := planfile.Read("plan.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return duringPlan(t, p, s)
}

func duringPlan(t *testing.T, p *plan.Plan, s *steps) *record.Run {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.t, s.cancel = t, cancel
	run, err := Run(ctx, nil, p, Options{Recording: Recording{Dir: t.TempDir() + "/bundle"},
		Hooks: Hooks{Sinks: []measure.Sink{s}}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// said reports whether an event of the record contains a text.
func said(run *record.Run, text string) bool {
	return slices.ContainsFunc(run.Events, func(e record.Event) bool { return e.Kind == "node" && e.Text == text })
}

// served returns the number of successful operations in an interval.
func served(iv *measure.Interval) uint64 {
	c := iv.Totals()
	return c.OK()
}

func onTiers(t *testing.T, test func(t *testing.T, tier string)) {
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) { test(t, tier) })
	}
}

// Writes go to the primary and reads to the replica. When the replica is promoted, writes follow.
func TestWritesFollowThePrimary(t *testing.T) {
	t.Parallel()
	onTiers(t, func(t *testing.T, tier string) {
		primary := testserver.Postgres(t)
		primary.Psql(t, "CREATE TABLE event (n bigint)")
		replica := testserver.PostgresReplica(t, primary)
		run := during(t, fmt.Sprintf(`
target:
  protocol: pg
  addresses: ["%s", "%s"]
  user: brunt
  database: postgres
  topology: {source: roles, every: 200ms}
interval: 100ms
tier: %s
sessions: 4
queries:
  - {name: write, route: primary, sql: "INSERT INTO event VALUES (1)"}
  - {name: read, route: replica, sql: "SELECT 1 FROM event LIMIT 1"}
load: [{constant: {rate: 100, duration: 120s}}]
`, primary.Addr, replica.Addr, tier), (&steps{}).then("both are used", func(iv *measure.Interval) bool {
			return iv.Addresses[0].OK() > 0 && iv.Addresses[1].OK() > 0
		}).then("promote", func(*measure.Interval) bool {
			primary.Kill()
			replica.Psql(t, "SELECT pg_promote()")
			return true
		}).then("writes follow", func(iv *measure.Interval) bool {
			return iv.Operations[0].OK() > 0 && iv.Addresses[0].OK() == 0
		}))
		if n := replica.Psql(t, "SELECT count(*) > 0 FROM event WHERE n = 1"); n != "t" {
			t.Error("no write reached the replica")
		}
		if !said(run, replica.Addr+" is primary now") {
			t.Errorf("events: %+v", run.Events)
		}
	})
}

// A node that joins a Redis cluster receives the requests for its keys, and is an address of the record.
func TestNodeJoinsRedisCluster(t *testing.T) {
	t.Parallel()
	cluster := testserver.RedisCluster(t)
	joining := cluster.Join(t)
	run := during(t, fmt.Sprintf(`
target: {protocol: redis, addresses: ["%s"], options: {mode: cluster}}
interval: 100ms
sessions: 4
retries: 100
queries:
  - {name: set, command: [SET, "key:$1", x], params: [{type: Integer, range: [1, 100000]}]}
load: [{constant: {rate: 500, duration: 120s}}]
`, cluster.Addrs()[0]), (&steps{}).then("it begins", func(iv *measure.Interval) bool { return served(iv) > 0 }).then(
		"give it slots", func(*measure.Interval) bool {
			cluster.Take(t, joining, 0, 99)
			return true
		}).then("it serves", func(iv *measure.Interval) bool { return len(iv.Addresses) == 4 && iv.Addresses[3].OK() > 0 }))
	if len(run.Targets) != 4 || run.Targets[3].Address != joining.Addr || run.Targets[3].Counts.OK == 0 {
		t.Errorf("addresses: %+v", run.Targets)
	}
	if !said(run, joining.Addr+" has joined") {
		t.Errorf("events: %+v", run.Events)
	}
}

// Requests go to the primary that Sentinel names, and to the one that takes over from it.
func TestSentinelNamesThePrimary(t *testing.T) {
	t.Parallel()
	onTiers(t, func(t *testing.T, tier string) {
		primary := testserver.Redis(t)
		replica := testserver.Redis(t, testserver.Settings(fmt.Sprintf("replicaof %s %d", primary.Host, primary.Port)))
		sentinel := testserver.RedisSentinel(t, primary, "cache")
		run := during(t, fmt.Sprintf(`
target:
  protocol: redis
  addresses: ["%s"]
  topology: {source: sentinel, name: cache, from: "%s", every: 200ms}
interval: 100ms
tier: %s
sessions: 4
queries:
  - {name: set, route: primary, command: [SET, key, x]}
load: [{constant: {rate: 100, duration: 120s}}]
`, primary.Addr, sentinel.Addr, tier), (&steps{}).then("the replica is known", func(iv *measure.Interval) bool {
			return len(iv.Addresses) == 2 && iv.Addresses[1].Up == 4
		}).then("kill the primary", func(*measure.Interval) bool {
			primary.Kill()
			return true
		}).then("the other serves", func(iv *measure.Interval) bool { return iv.Addresses[1].OK() > 0 }))
		if !said(run, replica.Addr+" is primary now") && !said(run, replica.Addr+" has joined as primary") {
			t.Errorf("events: %+v", run.Events)
		}
	})
}

// The other members of an etcd cluster are found through one of them, and requests follow the leader when another one
// is elected.
func TestMembersOfEtcd(t *testing.T) {
	members := testserver.EtcdCluster(t, 3)
	leader := testserver.EtcdLeader(members)
	if leader == nil {
		t.Fatal("no member leads")
	}
	at := 0 // index of the leader's address
	run := during(t, fmt.Sprintf(`
target: {protocol: etcd, addresses: ["%s"], topology: {source: members, from: ["%s", "%s", "%s"], every: 200ms}}
interval: 100ms
sessions: 4
timeouts: {operation: 1s, connect: 1s}
queries:
  - {name: put, route: primary, insert: t, fields: [a], params: [{type: String}, {type: String}]}
load: [{constant: {rate: 100, duration: 120s}}]
`, members[0].Addr, members[0].Addr, members[1].Addr, members[2].Addr),
		(&steps{}).then("it serves", func(iv *measure.Interval) bool {
			at = slices.IndexFunc(iv.Addresses, func(c measure.AddressAccount) bool { return c.OK() > 0 })
			return at >= 0 && len(iv.Addresses) == len(members)
		}).then("kill the leader", func(*measure.Interval) bool {
			leader.Kill()
			return true
		}).then("another serves", func(iv *measure.Interval) bool {
			return served(iv) > 0 && iv.Addresses[at].OK() == 0
		}))
	if len(run.Targets) != len(members) || run.Targets[at].Address != leader.Addr {
		t.Errorf("the leader at %s was number %d of the addresses: %+v", leader.Addr, at, run.Targets)
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool {
		return e.Kind == "node" && strings.HasSuffix(e.Text, " is primary now")
	}) {
		t.Errorf("events: %+v", run.Events)
	}
}

func TestTopologyThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name, target, say string
		usage             bool
	}{
		{"roles that nobody knows", "{protocol: sqlite, addresses: [':memory:']}", "can't be asked for their roles", true},
		{"nobody who knows", "{protocol: pg, topology: {source: patroni, from: '127.0.0.1:1'}}", "ask Patroni", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := planfile.Read("plan.yml", []byte("target: "+c.target+`
queries: [{name: q, sql: select 1, route: replica}]
load: [{closed: {operations: 1}}]
`))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Run(t.Context(), nil, p, Options{Recording: Recording{None: true}})
			var usage *target.UsageError
			if err == nil || !strings.Contains(err.Error(), c.say) || errors.As(err, &usage) != c.usage ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want a line with %q", err, c.say)
			}
		})
	}
}
