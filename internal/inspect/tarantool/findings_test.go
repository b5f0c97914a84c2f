package tarantool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
	"brunt/test/testserver"
)

func TestScanOfStatementIsFound(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	text := "SELECT COUNT(*) FROM sold WHERE book = 5"
	in := inspected(t, url(s), func(*Inspector) {
		for range 20 {
			if _, err := c.Query(context.Background(), text); err != nil {
				t.Fatal(err)
			}
		}
	}, statement("count", text), statement("get", "SELECT * FROM sold WHERE id = 5"))
	inspecttest.Expect(t, in, FindSQLScan, "count: SELECT COUNT", "SCAN TABLE", "SOLD")
	if len(in.Plans) != 2 || !strings.HasPrefix(in.Plans[1].Nodes[0].Text, "SEARCH TABLE") {
		t.Errorf("%+v", in.Plans)
	}
}

func TestBlockedLoopIsFound(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	in := inspected(t, url(s), func(i *Inspector) {
		i.pid = 0 // whatever else this machine does
		beside(t, i, func() bool { return len(i.seen.lagsNs) >= leastSamples }, once(c, "compute(0.05)"))
	}, operation("report", protocol.Call, "compute"))
	inspecttest.Expect(t, in, FindBlockedLoop, "report", "--inspect-profile")
}

// A loop that waits for a core isn't blocked by a function, and doesn't acquit the disk.
func TestStarvedLoopIsNotBlocked(t *testing.T) {
	late := slices.Repeat([]float64{10e6}, leastSamples)
	write := inspect.Operation{Name: "put", MeanNs: 150e6, Done: 100,
		Requests: []*protocol.Request{{Verb: protocol.Replace}}}
	for starved, want := range map[bool]string{false: FindBlockedLoop, true: FindSlowWAL} {
		in := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9}}}
		c := &caseFile{seen: &sightings{lagsNs: late}, inspection: in, load: &in.Windows[0], starved: starved,
			operations: []inspect.Operation{write}}
		if c.judge(); len(in.Findings) != 1 || in.Findings[0].ID != want {
			t.Errorf("starved %v: %+v, want %s", starved, in.Findings, want)
		}
	}
}

func TestFunctionIsNamedByProfile(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	i, err := New(url(s))
	if err != nil {
		t.Fatal(err)
	}
	i.ProfileFunctions()
	in := inspecttest.Run(t, i, func(i *Inspector) { do(t, c, 40, "return byowner(5)") },
		operation("owned", protocol.Call, "byowner"))
	inspecttest.Expect(t, in, FindLuaScan, "owned: byowner (init.lua:", "index:pairs")
	// The profiler has stopped.
	values, failure := c.Eval(context.Background(), "return package.loaded['brunt.profile'] == nil")
	if failure != nil || len(values) != 1 || values[0] != true {
		t.Errorf("%v, %v", values, failure)
	}
}

func TestLargeAnswersAreFound(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	large := operation("large", protocol.Call, "large")
	large.BytesIn = 100 * 90_000
	in := inspected(t, url(s), func(*Inspector) { do(t, c, 100, "return large(90000)") }, large)
	inspecttest.Expect(t, in, FindBigReply, "large", "limit")
}

func TestFullRequestsAreFound(t *testing.T) {
	s := shared(t)
	in := inspected(t, url(s), func(i *Inspector) {
		var loads []func() error
		for range 70 {
			loads = append(loads, once(client(t, s), "rest(0.02)"))
		}
		beside(t, i, func() bool {
			n := 0
			for _, x := range i.seen.requests {
				if x >= 59 {
					n++
				}
			}
			return n >= msgMaxSamples
		}, loads...)
	})
	inspecttest.Expect(t, in, FindMsgMax, "60", "net_msg_max")
	if len(in.Activity.Clients) > 0 {
		t.Errorf("requests are taken for connections: %+v", in.Activity.Clients)
	}
}

// The figures are those of a server whose inserts fail, and of a small one whose two slabs are both in use.
func TestFullMemoryIsFound(t *testing.T) {
	for arena, want := range map[float64]int{0.94: 1, 0.53: 0} {
		slab := record.Counters{Kind: kindGauge, Name: "slab",
			Values: map[string]float64{"quota_used_ratio": 1, "arena_used_ratio": arena, "quota_size": 1 << 26}}
		in := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9, Counters: []record.Counters{slab}}}}
		c := &caseFile{seen: &sightings{}, inspection: in, load: &in.Windows[0]}
		if c.judge(); len(in.Findings) != want {
			t.Errorf("%v: %+v", arena, in.Findings)
		}
	}
}

func TestGarbageIsFound(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	in := inspected(t, url(s), func(i *Inspector) {
		for range gcFalls + 2 {
			do(t, c, 1, "collect()")
			inspecttest.Sample(t, i, 1)
			do(t, c, 1, "return garbage(300000)")
			inspecttest.Sample(t, i, 1)
		}
	})
	inspecttest.Expect(t, in, FindLuaGC, "garbage")
}

func TestLateReplicaIsFound(t *testing.T) {
	all := testserver.TarantoolCluster(t, 2)
	var follower *iproto.Session
	for follower == nil { // it lets users in once it has the leader's data
		var err *protocol.Error
		follower, err = iproto.OpenSession(context.Background(),
			protocol.Target{Address: all[1].Addr, User: all[1].User, Password: all[1].Password})
		if err != nil {
			follower = nil
		}
	}
	defer follower.Close()
	c := client(t, all[0])
	do(t, c, 1, "box.schema.space.create('q'):create_index('pk')")
	for {
		values, err := follower.Eval(context.Background(), "return box.space.q ~= nil and box.space.q.index[0] ~= nil")
		if err != nil {
			t.Fatal(err)
		}
		if values[0] == true {
			break
		}
	}
	in := inspected(t, url(all[0]), func(i *Inspector) {
		all[1].Stop()
		do(t, c, 1, "for i = 1, 3000 do box.space.q:replace{i} end")
		// Samples of a busy server are rare, as here, two periods apart; each looks at the replicas.
		for k := range 100 * lateSamples {
			if r := i.seen.replicas["2"]; r != nil && max(r.late, r.broken) >= lateSamples {
				return
			}
			if err := i.Sample(context.Background(), time.Duration(k)*2*infoPeriod); err != nil {
				t.Fatal(err)
			}
		}
		t.Errorf("replicas %+v", i.seen.replicas)
	})
	inspecttest.Expect(t, in, FindReplicaLag, "replica 2")
}

func TestHealthyServerIsSilent(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	i, err := New(fmt.Sprintf("tarantool://watch:w4tch-secret@%s", s.Addr))
	if err != nil {
		t.Fatal(err)
	}
	in := inspecttest.Run(t, i, func(i *Inspector) {
		for k := range 50 {
			do(t, c, 4, fmt.Sprintf("return get(%d)", k+1))
			if _, err := c.Query(context.Background(), "SELECT * FROM sold WHERE id = 5"); err != nil {
				t.Fatal(err)
			}
			if k%4 == 0 {
				inspecttest.Sample(t, i, 1)
			}
		}
	}, operation("get", protocol.Call, "get"), statement("sold", "SELECT * FROM sold WHERE id = 5"))
	for _, f := range in.Findings {
		// How soon the loop answers on a machine with other work isn't this server's fault.
		if f.ID != FindBlockedLoop {
			t.Errorf("unexpected: %s %s: %s", f.ID, f.Subject, f.Evidence)
		}
	}
	for _, m := range in.Missing {
		t.Errorf("missing: %s", m.Text)
	}
	v := inspect.Figures(&in.Windows[0], kindStat, "requests")
	if v["EVAL.total"] != 200 || v["EXECUTE.total"] != 50 || v["CALL.total"] != 0 {
		t.Errorf("requests: %v", v)
	}
	if in.RoundTripNs <= 0 {
		t.Errorf("no round trip")
	}
}

// A rule that depends on times is given them.
func TestRulesOfTimes(t *testing.T) {
	lags := func(ms float64) *sightings {
		s := &sightings{}
		for range leastSamples {
			s.lagsNs = append(s.lagsNs, ms*1e6)
		}
		return s
	}
	put, get := operation("put", protocol.Replace, "book"), operation("get", protocol.Select, "book")
	for _, row := range []struct {
		name         string
		lag          float64
		put, get     float64
		want, wantNo string
	}{
		{"slow log", 0.7, 44, 1, FindSlowWAL, FindBlockedLoop},
		{"blocked loop", 7.4, 44, 40, FindBlockedLoop, FindSlowWAL},
		{"healthy", 0.9, 1.2, 1, "", FindSlowWAL + FindBlockedLoop},
		{"all requests slow", 0.7, 44, 44, "", FindSlowWAL},
	} {
		t.Run(row.name, func(t *testing.T) {
			put.MeanNs, get.MeanNs = row.put*1e6, row.get*1e6
			in := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9}}}
			c := &caseFile{seen: lags(row.lag), inspection: in, load: &in.Windows[0], operations: []inspect.Operation{put, get}}
			c.judge()
			found := false
			for _, f := range in.Findings {
				found = found || f.ID == row.want
				if strings.Contains(row.wantNo, f.ID) {
					t.Errorf("unexpected: %+v", f)
				}
			}
			if row.want != "" && !found {
				t.Errorf("no %s among %+v", row.want, in.Findings)
			}
		})
	}
}

// What vinyl has on the disk and in memory, and what its regulator decides, shrinks without a restart of the server.
func TestVinylsGaugesAreNoReset(t *testing.T) {
	readings := inspect.Readings{Gauges: gauge}
	at := time.Unix(1000, 0)
	for k, values := range []map[string]float64{
		{"disk.data": 48e6, "disk.data_compacted": 30e6, "disk.index": 3e5, "memory.level0": 7e6, "tx.transactions": 2,
			"regulator.rate_limit": 9e6, "regulator.dump_bandwidth": 15e6, "regulator.dump_watermark": 8e6,
			"regulator.write_rate": 7e6, "scheduler.tasks_inprogress": 2, "scheduler.dump_count": 3, "tx.commit": 40},
		{"disk.data": 40e6, "disk.data_compacted": 28e6, "disk.index": 2e5, "memory.level0": 5e6, "tx.transactions": 0,
			"regulator.rate_limit": 5e6, "regulator.dump_bandwidth": 12e6, "regulator.dump_watermark": 7e6,
			"regulator.write_rate": 3e6, "scheduler.tasks_inprogress": 0, "scheduler.dump_count": 11, "tx.commit": 120},
	} {
		readings.Add(&inspect.Reading{At: at.Add(time.Duration(k) * time.Second), Epoch: "0",
			Objects: map[inspect.Object]map[string]float64{{Kind: kindStat, Name: "vinyl"}: values}})
	}
	readings.Mark(inspect.Phase{Name: "load"})
	if readings.Reset() {
		t.Error("gauges that shrink are taken for a restart")
	}
	v := inspect.Figures(&readings.Windows(nil, inspect.Normal)[0], kindStat, "vinyl")
	if v["scheduler.dump_count"] != 8 || v["tx.commit"] != 80 || v["disk.data"] != 40e6 {
		t.Errorf("%v", v)
	}
}

// The figures of the healthy row are of a vinyl that compacts each dump within a second.
func TestVinylDebtIsFound(t *testing.T) {
	const mb = 1 << 20
	for name, debts := range map[string][]debt{
		"debt":    {{0, 4 * mb}, {60 * mb, 28 * mb}, {60 * mb, 28 * mb}, {70 * mb, 8 * mb}},
		"healthy": {{12 * mb, 0}, {0, 4 * mb}, {19 * mb, 0}, {0, 5 * mb}, {26 * mb, mb}, {0, 5 * mb}, {33 * mb, mb}},
	} {
		t.Run(name, func(t *testing.T) {
			in := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9}}}
			c := &caseFile{seen: &sightings{debts: debts}, inspection: in, load: &in.Windows[0]}
			c.judge()
			if name == "healthy" {
				inspecttest.Silent(t, in, FindVinylDebt)
				return
			}
			inspecttest.Expect(t, in, FindVinylDebt, "compaction", "70.0 MiB")
		})
	}
}

// Lookups of a part of the key read a page of each run, until the runs are compacted. A user without rights learns what
// to grant.
func TestReadsOfManyRunsAreFound(t *testing.T) {
	s := shared(t)
	c := client(t, s)
	do(t, c, 1, `local v = box.schema.space.create('tree', {engine = 'vinyl', if_not_exists = true})
		v:create_index('pk', {parts = {1, 'unsigned', 2, 'unsigned'}, if_not_exists = true, run_count_per_level = 100})
		for run = 1, 7 do
			local n = run == 1 and 4000 or 100
			box.begin() for i = 1, n do v:replace{i, run, require('digest').urandom(50)} end box.commit()
			box.snapshot()
		end`)
	t.Cleanup(func() { do(t, c, 1, "box.space.tree:drop()") })
	lookups := "for i = 1, 200 do box.space.tree:select({i % 100 + 1}) end"
	for _, row := range []string{"runs", "compacted"} {
		if row == "compacted" {
			do(t, c, 1, `local i = box.space.tree.index.pk i:compact()
				while i:stat().run_count > 1 do require('fiber').sleep(0.01) end`)
		}
		in := inspected(t, url(s), func(*Inspector) { do(t, c, 1, lookups) })
		if row == "compacted" {
			inspecttest.Silent(t, in, FindVinylReads)
			continue
		}
		inspecttest.Expect(t, in, FindVinylReads, "tree.pk", "200 lookups", "7.00 runs")
	}
	in := inspected(t, fmt.Sprintf("tarantool://watch:w4tch-secret@%s", s.Addr), func(*Inspector) {})
	if len(in.Missing) != 1 || !strings.Contains(in.Missing[0].Text.String(), "vinyl's indexes") {
		t.Errorf("%+v", in.Missing)
	}
}

// The figures are those of two servers of a ring, of which the other one stands still: the lag behind it stays small,
// and only what it hasn't confirmed grows.
func TestReplicaThatStandsStillIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		step int
		want bool
	}{"stands still": {900, true}, "healthy": {0, false}} {
		t.Run(name, func(t *testing.T) {
			s, activity := &sightings{}, inspect.NewActivity()
			for k := range 6 {
				lsn := 5000 + 900*k
				s.replication(map[string]any{"id": json.Number("1"), "lsn": json.Number(strconv.Itoa(lsn)),
					"replication": map[string]any{
						"2": map[string]any{"id": json.Number("2"), "lsn": json.Number("0"),
							"upstream": map[string]any{"status": "follow", "lag": json.Number("0.0003"),
								"peer": "replicator@10.0.0.8:3301"},
							"downstream": map[string]any{"status": "follow",
								"vclock": map[string]any{"1": json.Number(strconv.Itoa(lsn - c.step*k))}}},
					}}, activity)
			}
			run := record.Run{Inspections: []record.Inspection{{Activity: activity.Record(func(string) bool { return false })}}}
			if all := run.ReplicaAddresses(); !slices.Equal(all, []string{"10.0.0.8"}) {
				t.Errorf("replicas at %q", all)
			}
			in := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9}}}
			replicaLag(&caseFile{seen: s, inspection: in, load: &in.Windows[0]})
			if found := len(in.Findings) == 1; found != c.want {
				t.Fatalf("%+v", in.Findings)
			}
			if c.want {
				inspecttest.Expect(t, in, FindReplicaLag, "4,500 rows", "replica 2")
			}
		})
	}
}
