//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// etcdAsk sends a request in JSON to the row's member.
func (sc *scene) etcdAsk(ctx context.Context, path, body string) error {
	_, err := etcdAsked(ctx, sc.server.Addr, path, body)
	return err
}

// etcdAsked sends a request in JSON to a member and returns the answer.
func etcdAsked(ctx context.Context, member, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+member+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s: %s", path, answer.Status)
	}
	return text, err
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// etcdPut puts a value of some bytes.
func (sc *scene) etcdPut(key string, size int) error {
	return sc.etcdAsk(context.Background(), "/v3/kv/put",
		fmt.Sprintf(`{"key":%q,"value":%q}`, base64Of(key), base64Of(strings.Repeat("x", size))))
}

// etcdStatus returns the sizes and the revision that the row's member reports.
func (sc *scene) etcdStatus() (sizeB, revision int64, err error) {
	var status struct {
		Size   int64 `json:"dbSize,string"`
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	text, err := etcdAsked(context.Background(), sc.server.Addr, "/v3/maintenance/status", "{}")
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	return status.Size, status.Header.Revision, err
}

// etcdCompact forgets all revisions but the last, and returns when that is done.
func (sc *scene) etcdCompact(ctx context.Context) error {
	_, revision, err := sc.etcdStatus()
	if err == nil {
		err = sc.etcdAsk(ctx, "/v3/kv/compaction", fmt.Sprintf(`{"revision":"%d","physical":true}`, revision))
	}
	return err
}

// etcdRow is a row of etcd. settings are flags of its server; rows with the same ones share it.
func etcdRow(cause, planted string, want []string, queries string, rate int, settings ...string) row {
	return row{System: "etcd", Cause: cause, Planted: planted, Want: want,
		Server: "etcd" + strings.Join(settings, ""),
		Start: func(st *stage) *testserver.Server {
			return testserver.Etcd(st.tb, testserver.Settings(append([]string{"--metrics=extensive"}, settings...)...))
		},
		Plan: "queries:\n" + queries + openLoad(8, rate),
		Flags: func(sc *scene) []string {
			return []string{"--proto", "etcd", "-a", sc.server.Addr, "--inspect", "auto"}
		}}
}

// clusterRow is a row of three members, whose leader is the row's server when the row begins.
func clusterRow(cause, planted string, want []string, queries string, rate int,
	prepare func(sc *scene) (func(), error), more ...testserver.Option) row {
	r := etcdRow(cause, planted, want, queries, rate)
	r.Server = fmt.Sprint("etcd cluster", len(more))
	r.Start = func(st *stage) *testserver.Server {
		// Longer than testserver's, so that no busy machine makes them elect.
		opts := append([]testserver.Option{testserver.Settings("--metrics=extensive", "--heartbeat-interval=100",
			"--election-timeout=1500")}, more...)
		st.groups[r.Server] = testserver.EtcdCluster(st.tb, 3, opts...)
		return st.groups[r.Server][0]
	}
	r.Prepare = func(sc *scene) (func(), error) {
		for end := time.Now().Add(patience / 4); testserver.EtcdLeader(sc.group()) == nil; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				return nil, fmt.Errorf("the members have no leader")
			}
		}
		if prepare == nil {
			return nil, nil
		}
		return prepare(sc)
	}
	r.Flags = func(sc *scene) []string {
		var all []string
		for _, m := range sc.group() {
			all = append(all, m.Addr)
		}
		return []string{"--proto", "etcd", "-a", strings.Join(all, ","), "--inspect", "auto"}
	}
	return r
}

func etcdRows() []row {
	get := commandsOf("get", `get, "k:$1"`, anyKey, 5)
	put := commandsOf("put", `put, "k:$1", "$1"`, anyKey, 5)
	lease := commandsOf("lease", `lease-grant, "100"`, "", 5)
	large := etcdRow("large-range", "a tenth of the reads lists 200 keys of 1 kB", []string{"large-range"},
		get+commandsOf("list", "get, big, --prefix", "", 1), 40)
	large.Prepare = func(sc *scene) (func(), error) {
		for k := range 200 {
			if err := sc.etcdPut(fmt.Sprint("big", k), 1000); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	big := etcdRow("big-value", "values of 200 kB are put", []string{"big-value"},
		get+commandsOf("put", `put, "k:$1", "$2"`, "{type: Integer, range: [1, 20]}, {type: String, range: [200000, 200000]}", 5),
		20, "--quota-backend-bytes=7000000000")
	big.Plan += "target: {protocol: etcd, options: {codec: 'off'}}\n" // the codec's requests fit a window of 64 kB
	all := []row{
		etcdRow("healthy", "short reads and writes", nil, get+put, 50),
		etcdRow("healthy-reads", "short reads", nil, get, 100),
		large,
		big,
		etcdRow("lease-storm", "a lease for each put", []string{"lease-storm"}, put+lease, 60),
		etcdRow("quota", "a quota of 1 MB is used up", []string{"quota", "request-errors"},
			commandsOf("put", `put, "k:$1", "$2"`, anyKey+", {type: String, range: [20000, 20000]}", 1), 50,
			"--quota-backend-bytes=1000000"),
	}
	all = append(all, etcdMaintained(get+put)...)
	return append(all, etcdMachine(get+put)...)
}

// etcdMaintained are rows about what is done to a database, or should be.
func etcdMaintained(queries string) []row {
	during := func(r *row, do func(ctx context.Context, sc *scene)) {
		r.During = func(ctx context.Context, sc *scene) {
			if sc.underWay(ctx) {
				protocol.Sleep(ctx, plantAfter)
				do(ctx, sc)
			}
		}
	}
	defrag := etcdRow("defrag", "the member is defragmented during the load", []string{"defrag"}, queries, 50)
	during(&defrag, func(ctx context.Context, sc *scene) { _ = sc.etcdAsk(ctx, "/v3/maintenance/defragment", "{}") })

	snapshot := etcdRow("snapshot", "snapshots of a database of 130 MB are taken, one after another", []string{"snapshot"},
		queries, 50, "--quota-backend-bytes=4000000000")
	snapshot.Prepare = filled(130)
	during(&snapshot, func(ctx context.Context, sc *scene) {
		for ctx.Err() == nil {
			_ = sc.etcdAsk(ctx, "/v3/maintenance/snapshot", "{}")
		}
	})

	near := etcdRow("quota-near", "the database has four fifths of its quota (100 MB)", []string{"quota"}, queries, 50,
		"--quota-backend-bytes=100000000")
	near.Prepare = filled(80)

	empty := etcdRow("fragmentation", "most of the database was deleted and compacted", []string{"fragmentation"},
		queries, 50, "--quota-backend-bytes=3000000000")
	empty.Prepare = func(sc *scene) (func(), error) {
		if _, err := filled(130)(sc); err != nil {
			return nil, err
		}
		err := sc.etcdAsk(context.Background(), "/v3/kv/deleterange", fmt.Sprintf(`{"key":%q,"range_end":%q}`,
			base64Of("filled:"), base64Of("filled;")))
		if err != nil {
			return nil, err
		}
		return nil, sc.etcdCompact(context.Background())
	}

	compacted := etcdRow("compaction", "120,000 old revisions are compacted during the load", []string{"compaction"},
		queries, 50, "--quota-backend-bytes=2000000000")
	compacted.Prepare = revisions
	during(&compacted, func(ctx context.Context, sc *scene) { _ = sc.etcdCompact(ctx) })

	watched := etcdRow("watchers", "100 watches of all keys that are put", []string{"watchers"}, queries, 50)
	watched.Prepare = watches
	return []row{defrag, snapshot, near, empty, compacted, watched}
}

// etcdMachine are rows about disks, cores and networks of members.
func etcdMachine(queries string) []row {
	disk := etcdRow("slow-disk", "each fsync takes 30 ms longer", []string{"slow-disk"}, queries, 40)
	disk.Prepare = func(sc *scene) (func(), error) { return slowed(sc.server.PID, "", 30*time.Millisecond) }
	starved := etcdRow("starved", "six other processes compute on its cores", []string{"starved", "process-taken"},
		queries, 300)
	starved.During = burners(6)
	follower := clusterRow("slow-follower", "each fsync of one of two followers takes 60 ms longer",
		[]string{"slow-follower"}, queries, 40, func(sc *scene) (func(), error) {
			leader := testserver.EtcdLeader(sc.group())
			for _, m := range sc.group() {
				if m != leader {
					return slowed(m.PID, "", 60*time.Millisecond)
				}
			}
			return nil, nil
		})
	elected := clusterRow("leader-change", "the leader stands still until the others elect another",
		[]string{"leader-change"}, queries, 40, nil)
	elected.During = func(ctx context.Context, sc *scene) {
		leader := testserver.EtcdLeader(sc.group())
		if leader == nil || !sc.underWay(ctx) {
			return
		}
		protocol.Sleep(ctx, plantAfter)
		testserver.Freeze(leader.PID)
		defer testserver.Thaw(leader.PID)
		for ctx.Err() == nil {
			protocol.Sleep(ctx, 100*time.Millisecond)
			if now := testserver.EtcdLeader(sc.othersThan(leader)); now != nil {
				return
			}
		}
	}
	far := clusterRow("peer-rtt", "data between the members takes 15 ms, each way", []string{"peer-rtt"}, queries, 30,
		awaitTrips, testserver.PeersThrough(func(_ int, listen string) string {
			address, err := distant(listen, 15*time.Millisecond)
			if err != nil {
				panic(err) // no free port
			}
			return address
		}))
	return []row{disk, starved,
		clusterRow("healthy-cluster", "short reads and writes on three members", nil, queries, 30, nil),
		follower, elected, far}
}

// filled returns a Prepare that writes until the database has some MB.
func filled(megabytes int64) func(sc *scene) (func(), error) {
	return func(sc *scene) (func(), error) {
		for k := 0; ; k++ {
			size, _, err := sc.etcdStatus()
			if err != nil || size >= megabytes*1e6 {
				return nil, err
			}
			if err := sc.etcdPut(fmt.Sprint("filled:", k), 500_000); err != nil {
				return nil, err
			}
		}
	}
}

// revisions writes the same 100 keys 1,200 times.
func revisions(sc *scene) (func(), error) {
	var puts []string
	for k := range 100 {
		puts = append(puts, fmt.Sprintf(`{"request_put":{"key":%q,"value":"eA=="}}`, base64Of(fmt.Sprint("again:", k))))
	}
	body := `{"success":[` + strings.Join(puts, ",") + "]}"
	for range 1200 {
		if err := sc.etcdAsk(context.Background(), "/v3/kv/txn", body); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// watches watches all keys of the load until undo is called.
func watches(sc *scene) (func(), error) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	undo := func() { stop(); all.Wait() }
	for range 100 {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+sc.server.Addr+"/v3/watch",
			strings.NewReader(fmt.Sprintf(`{"create_request":{"key":%q,"range_end":%q}}`, base64Of("k:"), base64Of("k;"))))
		if err != nil {
			return undo, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return undo, err
		}
		all.Go(func() {
			defer answer.Body.Close()
			_, _ = io.Copy(io.Discard, answer.Body)
		})
	}
	return undo, nil
}

// awaitTrips waits until the leader has measured its round trips, which it does twice a minute.
func awaitTrips(sc *scene) (func(), error) {
	const metric = "etcd_network_peer_round_trip_time_seconds_count"
	for end := time.Now().Add(patience / 2); time.Now().Before(end); time.Sleep(time.Second) {
		answer, err := http.Get("http://" + testserver.EtcdLeader(sc.group()).Addr + "/metrics")
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte(metric)) && !bytes.HasSuffix(line, []byte(" 0\n")) {
				return nil, nil
			}
		}
	}
	return nil, fmt.Errorf("no member has measured a round trip")
}
