package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
	"brunt/internal/server/target"
	"brunt/test/testserver"
)

// evaluate runs a program on a Tarantool server.
func evaluate(t *testing.T, s *testserver.Server, text string) {
	t.Helper()
	p := &protocol.Program{Requests: []protocol.Request{{Name: "program", Verb: protocol.Eval, Text: text}}}
	conn, err := iproto.New().Dial(t.Context(), protocol.Target{Address: s.Addr, User: s.User, Password: s.Password}, p)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var reply protocol.Reply
	if conn.Do(t.Context(), &p.Requests[0], nil, &reply); reply.Class != protocol.OK {
		t.Fatal(reply.Text)
	}
}

// shardPlan returns a plan for storages in which the only parameter of the operation is the sharding key.
func shardPlan(all []*testserver.Server, balance, tier, load string) string {
	addresses := make([]string, len(all))
	for i, s := range all {
		addresses[i] = `"` + s.Addr + `"`
	}
	return fmt.Sprintf(`
target:
  protocol: iproto
  addresses: [%s]
  user: %s
  topology: {source: roles, every: 10s}
  balance: {mode: bucket, by: [id], %s}
interval: 100ms
tier: %s
sessions: 4
retries: 50
queries:
  - {name: touch, call: touch, params: [{name: id, type: Unsigned, range: [1, 100000]}]}
load: [%s]
`, strings.Join(addresses, ", "), all[0].User, balance, tier, load)
}

// duringShards is during with the servers' password.
func duringShards(t *testing.T, text string, s *steps) *record.Run {
	t.Helper()
	return duringPlan(t, withPassword(t, text), s)
}

func withPassword(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := planfile.Read("plan.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Password = "brunt-test"
	return p
}

// misdirected returns the number of misdirected operations in an interval.
func misdirected(iv *measure.Interval) uint64 {
	c := iv.Totals()
	return c.Misdirected
}

// Requests go to the node that has their bucket. When buckets move, the client notices the first refused requests, long
// before it reads the map again. Requests for buckets of a lost node go elsewhere and are counted.
func TestRequestsFollowTheirBuckets(t *testing.T) {
	t.Parallel()
	onTiers(t, func(t *testing.T, tier string) {
		all := testserver.Vshard(t, 3, 30)
		early := uint64(0)
		duringShards(t, shardPlan(all, "buckets: 30, hash_function: murmur3, map: vshard", tier,
			"constant: {rate: 500, duration: 120s}"), (&steps{}).then("all serve", func(iv *measure.Interval) bool {
			c := iv.Totals()
			early += c.Misdirected + c.Unmapped
			return iv.Addresses[0].OK() > 0 && iv.Addresses[1].OK() > 0 && iv.Addresses[2].OK() > 0
		}).then("move buckets", func(*measure.Interval) bool {
			if early > 0 {
				t.Errorf("%d operations were misdirected before anything moved", early)
			}
			evaluate(t, all[0], "for id = 1, 5 do box.space._bucket:delete(id) end")
			evaluate(t, all[1], "for id = 1, 5 do box.space._bucket:replace{id, 'active'} end")
			return true
		}).then("some are misdirected", func(iv *measure.Interval) bool { return misdirected(iv) > 0 }).then(
			"the client has learned", func(iv *measure.Interval) bool {
				return served(iv) > 0 && misdirected(iv) == 0 && iv.Addresses[1].OK() > iv.Addresses[0].OK()
			}).then("kill a storage", func(*measure.Interval) bool {
			all[2].Kill()
			return true
		}).then("its requests go elsewhere", func(iv *measure.Interval) bool {
			return misdirected(iv) > 0 && served(iv) > 0 && iv.Addresses[2].Done == 0
		}))
	})
}

// If the hash function isn't the cluster's, two thirds of the requests go to one of the two wrong storages.
func TestAWrongHashIsSeen(t *testing.T) {
	t.Parallel()
	onTiers(t, func(t *testing.T, tier string) {
		all := testserver.Vshard(t, 3, 300)
		text := strings.Replace(shardPlan(all, "buckets: 300, hash_function: crc32-mp, map: vshard", tier,
			"closed: {operations: 3000}"), "retries: 50", "thresholds: [misdirected < 5%]", 1)
		run := duringShards(t, text, &steps{})
		c := run.Total.Counts
		if share := float64(c.Misdirected) / float64(c.Done); share < 0.6 || share > 0.73 {
			t.Errorf("%.3f of the operations were misdirected, want two thirds", share)
		}
		if c.Failed != c.Misdirected || c.Errors[protocol.Retryable] != c.Misdirected {
			t.Errorf("%d failed and %d were misdirected", c.Failed, c.Misdirected)
		}
		if len(run.Thresholds) != 1 || run.Thresholds[0].Pass {
			t.Errorf("thresholds: %+v", run.Thresholds)
		}
		if !warns(run, "misdirected") {
			t.Errorf("no warning: %+v", run.Warnings)
		}
		sum := uint64(0)
		for i := range run.Targets {
			sum += run.Targets[i].Counts.Misdirected
		}
		if sum != c.Misdirected {
			t.Errorf("the addresses had %d misdirected operations of %d", sum, c.Misdirected)
		}
	})
}

func warns(run *record.Run, id string) bool {
	for _, w := range run.Warnings {
		if w.ID == id {
			return true
		}
	}
	return false
}

// The other sources of the bucket map. Requests for buckets without a known node go to any address and are counted.
func TestMapsOfBuckets(t *testing.T) {
	t.Parallel()
	all := testserver.Vshard(t, 3, 30)
	program := fmt.Sprintf("return {{1, 10, '%s'}, {11, 20, '%s'}}", all[0].Addr, all[1].Addr)
	for _, c := range []struct {
		name, way string
		unmapped  float64
		warning   string
	}{
		{"ranges", fmt.Sprintf("{ranges: [{from: 1, to: 10, address: '%s'}, {from: 11, to: 20, address: '%s'}, "+
			"{from: 21, to: 30, address: '%s'}]}", all[0].Addr, all[1].Addr, all[2].Addr), 0, ""},
		{"a program", fmt.Sprintf("{eval: \"%s\"}", program), 1. / 3, "buckets-unknown"},
		{"an address that isn't listed",
			fmt.Sprintf("{eval: \"%s\"}", strings.Replace(program, all[1].Addr, "10.9.9.9:1", 1)), 2. / 3, "buckets-unlisted"},
		{"everybody has everything", "{eval: 'return {{1, 30}}'}", 0, "buckets-twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := shardPlan(all, "buckets: 30, hash_function: murmur3, map: "+c.way, "codec", "closed: {operations: 2000}")
			text = strings.Replace(text, "retries: 50", "retries: 0", 1) // no node accepts some of the keys
			run := duringShards(t, text, &steps{})
			if share := float64(run.Total.Unmapped) / float64(run.Total.Done); share < c.unmapped-0.06 ||
				share > c.unmapped+0.06 || c.unmapped == 0 && run.Total.Unmapped > 0 {
				t.Errorf("%.3f of the operations had no known address, want about %.3f", share, c.unmapped)
			}
			if c.warning != "" && !warns(run, c.warning) {
				t.Errorf("no warning %s: %+v", c.warning, run.Warnings)
			}
			if c.name == "ranges" && run.Total.Misdirected+run.Total.Failed > 0 {
				t.Errorf("misdirected %d, failed %d", run.Total.Misdirected, run.Total.Failed)
			}
		})
	}
}

// picoTables returns the statements that create Picodata's tables of buckets and addresses, for two replica sets with a
// master and a replica each. kind is the kind of the addresses.
func picoTables(kind string, masters [2]string) (statements []string) {
	for table, columns := range map[string]string{
		"_pico_bucket": `"tier_name" varchar(30), "bucket_id_start" int, "bucket_id_end" int, "state" varchar(30),
			"current_replicaset_name" varchar(30), "target_replicaset_name" varchar(30), primary key ("tier_name", "bucket_id_start")`,
		"_pico_replicaset":   `"name" varchar(30) primary key, "current_master_name" varchar(30)`,
		"_pico_instance":     `"name" varchar(30) primary key, "raft_id" int, "replicaset_name" varchar(30)`,
		"_pico_peer_address": `"raft_id" int, "address" varchar(60), "connection_type" varchar(30), primary key ("raft_id", "connection_type")`,
	} {
		statements = append(statements, fmt.Sprintf("create table %q (%s)", table, columns))
	}
	return append(statements,
		`insert into "_pico_bucket" values ('default', 1, 10, 'active', 'r1', null), ('default', 11, 20, 'sending', 'r2', 'r1'),
			('default', 21, 30, 'active', 'r1', null), ('cold', 1, 30, 'active', 'r2', null)`,
		`insert into "_pico_replicaset" values ('r1', 'i1'), ('r2', 'i3')`,
		`insert into "_pico_instance" values ('i1', 1, 'r1'), ('i2', 2, 'r1'), ('i3', 3, 'r2'), ('i4', 4, 'r2')`,
		fmt.Sprintf(`insert into "_pico_peer_address" values (1, '%s', '%s'), (1, '10.0.0.1:1', 'other'), (2, '10.0.0.2:1', '%[2]s'),
			(3, '%[3]s', '%[2]s'), (4, '10.0.0.4:1', '%[2]s')`, masters[0], kind, masters[1]))
}

// The addresses of the masters come from Picodata's system tables. Stand-ins with such tables answer: PostgreSQL over
// pg, and Tarantool over iproto.
func TestBucketsOfPicodata(t *testing.T) {
	t.Parallel()
	twoOf := func(start func() *testserver.Server) [2]*testserver.Server {
		return [2]*testserver.Server{start(), start()}
	}
	for _, c := range []struct {
		protocol, kind, tier string
		servers              func() [2]*testserver.Server
		wantFirst            float64 // share of the first address
	}{
		{"pg", "pgproto", "default", func() [2]*testserver.Server {
			return twoOf(func() *testserver.Server { return testserver.Postgres(t) })
		}, 2. / 3},
		{"iproto", "iproto", "default", func() [2]*testserver.Server {
			return twoOf(func() *testserver.Server { return testserver.Tarantool(t) })
		}, 2. / 3},
		{"iproto", "iproto", "cold", func() [2]*testserver.Server {
			return twoOf(func() *testserver.Server { return testserver.Tarantool(t) })
		}, 0},
	} {
		t.Run(c.protocol+" "+c.tier, func(t *testing.T) {
			servers := c.servers()
			for _, s := range servers {
				for _, statement := range picoTables(c.kind, [2]string{servers[0].Addr, servers[1].Addr}) {
					if c.protocol == "pg" {
						s.Psql(t, statement)
					} else {
						evaluate(t, s, "local r, e = box.execute([["+statement+"]]) if e then error(e) end")
					}
				}
			}
			sql := `SELECT $1::bigint`
			if c.protocol == "iproto" {
				sql = `SELECT ?`
			}
			run := duringShards(t, fmt.Sprintf(`
target:
  protocol: %s
  addresses: ["%s", "%s"]
  user: %s
  database: postgres
  balance: {mode: bucket, by: [id], buckets: 30, hash_function: murmur3, map: {source: picodata, tier: %s}}
interval: 100ms
sessions: 4
queries:
  - {name: read, sql: "%s", params: [{name: id, type: Integer, range: [1, 100000]}]}
load: [{closed: {operations: 2000}}]
`, c.protocol, servers[0].Addr, servers[1].Addr, servers[0].User, c.tier, sql), &steps{})
			if n := run.Total.Unmapped + run.Total.Misdirected + run.Total.Failed; n > 0 {
				t.Errorf("%d operations weren't as they should be: %+v", n, run.Total.Counts)
			}
			if share := float64(run.Targets[0].Counts.Done) / 2000; share < c.wantFirst-0.06 || share > c.wantFirst+0.06 {
				t.Errorf("the first address had %.3f of the operations, want about %.3f", share, c.wantFirst)
			}
		})
	}
}

func TestBucketMapsThatCannotBe(t *testing.T) {
	s := testserver.Vshard(t, 1, 10)
	plain, redis := testserver.Tarantool(t), testserver.Redis(t, testserver.Password("brunt-test"))
	for _, c := range []struct {
		name, text, say string
		usage           bool
	}{
		{"nobody runs programs", "target: {protocol: redis, addresses: ['" + redis.Addr + "'], balance: {mode: bucket, by: [id], " +
			"buckets: 3, hash_function: murmur3, map: vshard}}\nqueries: [{name: q, command: [GET, $1], " +
			"params: [{name: id, type: Integer}]}]\nload: [{closed: {operations: 1}}]\n", "run no programs", true},
		{"nobody knows SQL", "target: {protocol: redis, addresses: ['" + redis.Addr + "'], balance: {mode: bucket, by: [id], " +
			"buckets: 3, hash_function: murmur3, map: {sql: select 1}}}\nqueries: [{name: q, command: [GET, $1], " +
			"params: [{name: id, type: Integer}]}]\nload: [{closed: {operations: 1}}]\n", "has no SQL", true},
		{"a time", strings.Replace(shardPlan(s, "buckets: 10, hash_function: murmur3, map: vshard", "auto",
			"closed: {operations: 1}"), "type: Unsigned, range: [1, 100000]", "type: Datetime", 1), "can't have times", true},
		{"no buckets here", shardPlan(s, "buckets: 10, hash_function: murmur3, map: {eval: 'return {}'}", "auto",
			"closed: {operations: 1}"), "tells of no bucket", true},
		{"other addresses", shardPlan(s, "buckets: 10, hash_function: murmur3, map: {eval: \"return {{1, 10, 'a:1'}}\"}", "auto",
			"closed: {operations: 1}"), "it names a:1", true},
		{"no program", shardPlan(s, "buckets: 10, hash_function: murmur3, map: {eval: 'return ('}", "auto",
			"closed: {operations: 1}"), "unexpected symbol", false},
		{"no table of Picodata's", shardPlan([]*testserver.Server{plain},
			"buckets: 10, hash_function: murmur3, map: picodata", "auto", "closed: {operations: 1}"),
			"Picodata up to 25.5 has nothing of this name", true},
		{"no vshard", shardPlan([]*testserver.Server{plain}, "buckets: 10, hash_function: murmur3, map: vshard", "auto",
			"closed: {operations: 1}"), "no space _bucket", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(t.Context(), nil, withPassword(t, c.text), Options{Recording: Recording{None: true}})
			var usage *target.UsageError
			if err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want a line with %q", err, c.say)
			}
			if c.usage && !errors.As(err, &usage) {
				t.Errorf("%v isn't the plan's fault", err)
			}
		})
	}
}
