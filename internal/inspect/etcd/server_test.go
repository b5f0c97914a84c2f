package etcd

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

var pool testserver.Pool

func TestMain(m *testing.M) { os.Exit(pool.Run(m)) }

// driver sends requests to the gateway of a member.
type driver struct {
	t *testing.T
	m *member
}

func (d *driver) do(path, body string) {
	if _, err := d.m.do(d.t.Context(), d.m.base()+path, body); err != nil && !strings.Contains(err.Error(), "answered") {
		d.t.Fatalf("%s: %v", path, err)
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func (d *driver) put(key string, size int) {
	d.do("/v3/kv/put", fmt.Sprintf(`{"key":%q,"value":%q}`, b64(key), b64(strings.Repeat("x", size))))
}

func (d *driver) list(prefix string) {
	d.do("/v3/kv/range", fmt.Sprintf(`{"key":%q,"range_end":%q}`, b64(prefix), b64(prefix+"~")))
}

// watched opens watches of one key, waits until all are there, and puts it some times.
func (d *driver) watched(watches, puts int) {
	var all []*http.Response
	for range watches {
		body := fmt.Sprintf(`{"create_request":{"key":%q}}`, b64("watched"))
		answer, err := d.m.client.Post(d.m.base()+"/v3/watch", "application/json", strings.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, answer)
		defer answer.Body.Close()
	}
	for range puts {
		d.put("watched", 10)
	}
	for _, answer := range all { // the creation, and one event for each put
		lines := bufio.NewReader(answer.Body)
		for range puts + 1 {
			if _, err := lines.ReadString('\n'); err != nil {
				d.t.Fatal(err)
			}
		}
	}
}

func watched(t *testing.T, url string, operations []inspect.Operation, load func()) *record.Inspection {
	t.Helper()
	i, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	return inspecttest.Run(t, i, func(*Inspector) { load() }, operations...)
}

func ids(in *record.Inspection) (all []string) {
	for _, f := range in.Findings {
		if f.ID != FindDisk && f.ID != FindStarved { // what the machine under the test is like
			all = append(all, f.ID)
		}
	}
	return all
}

// A planted cause is found, and nothing is found in a healthy server.
func TestPlantedCauses(t *testing.T) {
	operations := []inspect.Operation{{Name: "list", Done: 1,
		Requests: []*protocol.Request{{Verb: protocol.Command, Words: []string{"get", "k", "--prefix"}}}}}
	for _, c := range []struct {
		name, want string
		load       func(d *driver)
	}{
		{"healthy", "", func(d *driver) {
			for k := range 30 {
				d.put(fmt.Sprint("k", k), 100)
				d.list(fmt.Sprint("k", k))
			}
		}},
		{"large ranges", FindRange, func(d *driver) {
			d.put("large", 500_000)
			for range 10 {
				d.list("large")
			}
		}},
		{"leases", FindLeases, func(d *driver) {
			for range 30 {
				d.do("/v3/lease/grant", `{"TTL":"100"}`)
			}
		}},
		{"large values", FindBigValue, func(d *driver) {
			for k := range 10 {
				d.put(fmt.Sprint("v", k), 200_000)
			}
		}},
		{"watchers", FindWatchers, func(d *driver) { d.watched(30, 10) }},
		{"a snapshot", FindSnapshot, func(d *driver) { d.do("/v3/maintenance/snapshot", "{}") }},
		{"defragmentation", FindDefrag, func(d *driver) { d.do("/v3/maintenance/defragment", "{}") }},
		{"errors", FindErrors, func(d *driver) {
			for range 20 {
				d.do("/v3/kv/compaction", `{"revision":"1000000000"}`)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server {
				return testserver.Etcd(t, testserver.Settings("--metrics=extensive"))
			})
			d := &driver{t, newMember(protocol.Target{Address: s.Addr})}
			out := watched(t, "http://"+s.Addr, operations, func() { c.load(d) })
			got := ids(out)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("found %v, want %q; %+v", got, c.want, out.Windows[0])
			}
			if c.want != "" {
				return
			}
			if !slices.ContainsFunc(out.Windows[0].Statements, func(s record.Statement) bool {
				return s.ID == "Range" && s.Calls == 30 && s.TotalNs > 0 && slices.Equal(s.Operations, []string{"list"})
			}) {
				t.Errorf("methods %+v, want 30 of Range by list", out.Windows[0].Statements)
			}
		})
	}
}

// A database that has reached its quota raises an alarm.
func TestQuota(t *testing.T) {
	s := testserver.Etcd(t, testserver.Settings("--quota-backend-bytes=1000000"))
	d := &driver{t, newMember(protocol.Target{Address: s.Addr})}
	out := watched(t, s.Addr, nil, func() {
		for range 10 {
			d.put("k", 300_000)
		}
	})
	if !slices.Contains(ids(out), FindQuota) {
		t.Errorf("found %v, want %s", ids(out), FindQuota)
	}
}

// What is expensive to plant: a slow disk, a slow follower, no core, an election, a fragmented database.
func TestRulesOfDisks(t *testing.T) {
	at := time.Unix(1000, 0)
	metrics := func(fsyncS, changes, used, puts, tripMs float64) string {
		return fmt.Sprintf("# TYPE x counter\netcd_mvcc_put_total %g\n"+
			"etcd_network_peer_round_trip_time_seconds_sum{To=\"a\"} %g\n"+
			"etcd_network_peer_round_trip_time_seconds_count{To=\"a\"} 10\n"+
			"etcd_disk_wal_fsync_duration_seconds_sum %g\n"+
			"etcd_disk_wal_fsync_duration_seconds_count 1000\netcd_server_leader_changes_seen_total %g\n"+
			"etcd_mvcc_db_total_size_in_bytes 4e+08\netcd_mvcc_db_total_size_in_use_in_bytes %g\n"+
			"etcd_server_quota_backend_bytes 2e+09\nprocess_start_time_seconds 17\n", puts, tripMs/100, fsyncS, changes, used)
	}
	for _, c := range []struct {
		name   string
		fsyncS []float64 // of 1000 fsyncs, by member
		queue  float64
		change float64
		used   float64
		tripMs float64 // between the members
		want   []string
	}{
		{"healthy", []float64{2.5, 2.4, 2.6}, 0.2, 0, 4e8, 3, nil},
		{"slow disk", []float64{17}, 0.39, 0, 4e8, 3, []string{FindDisk}},
		{"slow follower", []float64{2.4, 31.5, 2.4}, 0.3, 0, 4e8, 3, []string{FindFollower}},
		{"no core", []float64{7.1}, 1.7, 0, 4e8, 0, []string{FindStarved}},
		{"election", []float64{2.4}, 0.2, 1, 4e8, 3, []string{FindLeader}},
		{"fragmented", []float64{2.4}, 0.2, 0, 1e8, 0, []string{FindFragmentation}},
		{"far members", []float64{2.5, 2.4, 2.6}, 0.2, 0, 4e8, 30, []string{FindPeers}},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &Inspector{}
			var all []*inspect.Readings
			for k, s := range c.fsyncS {
				m := newMember(protocol.Target{Address: fmt.Sprint("m", k)})
				m.queue = c.queue
				for n, text := range []string{strings.ReplaceAll(metrics(0, 0, c.used, 0, c.tripMs), "count 1000", "count 0"),
					metrics(s, c.change, c.used, 100, c.tripMs)} {
					r, err := reading(strings.NewReader(text), m.target.Address, at.Add(time.Duration(n)*10*time.Second))
					if err != nil {
						t.Fatal(err)
					}
					m.readings.Add(r)
				}
				m.readings.Mark(inspect.Phase{Name: "load"})
				i.members, all = append(i.members, m), append(all, &m.readings)
			}
			out := &record.Inspection{Windows: inspect.Together(all).Matched(nil)}
			judge(i, out, nil)
			var got []string
			for _, f := range out.Findings {
				got = append(got, f.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	if _, err := New("redis://h:1"); err == nil {
		t.Error("redis:// is taken")
	}
	i, err := New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Begin(t.Context()); err == nil {
		t.Error("nobody answers there")
	}
}

func FuzzReading(f *testing.F) {
	f.Add("a{b=\"c\",grpc_method=\"Range\",grpc_code=\"OK\"} 1\ngrpc_server_handled_total{grpc_method=\"Range\"} 5 17\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := reading(strings.NewReader(text), "m", time.Time{})
		if err == nil && r == nil {
			t.Error("neither a reading nor an error")
		}
	})
}

// A member that starts again during the load is said, and what it counted before isn't lost.
func TestRestart(t *testing.T) {
	s := testserver.Etcd(t, testserver.Settings("--metrics=extensive"))
	d := &driver{t, newMember(protocol.Target{Address: s.Addr})}
	i, err := New("http://" + s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for k := range 20 {
		d.put(fmt.Sprint("k", k), 10)
	}
	if err := i.Sample(t.Context(), leastSample); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	d.m.client.CloseIdleConnections()
	i.members[0].client.CloseIdleConnections()
	for k := range 5 {
		d.put(fmt.Sprint("k", k), 10)
	}
	out, err := i.End(t.Context(), inspect.Phase{Name: "load"}, inspect.Load{})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Missing) != 1 || out.Missing[0].Text.ID != "inspect-restarted" {
		t.Errorf("%+v", out.Missing)
	}
	for _, s := range out.Windows[0].Statements {
		if s.ID == "Put" && s.Calls != 25 {
			t.Errorf("%v puts, want 25", s.Calls)
		}
	}
	if slices.Contains(ids(out), FindLeader) {
		t.Errorf("a start is taken for an election: %v", ids(out))
	}
}

// Metrics that are served elsewhere are read there; a member without them is an error that says what to write.
func TestMetricsElsewhere(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server {
		return testserver.Etcd(t, testserver.Settings("--metrics=extensive"))
	})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	}))
	defer service.Close()
	for url, want := range map[string]string{
		service.URL: "404 Not Found; where clients need certificates", // the load's port, without metrics
		"http://" + s.Addr + "?metrics=" + service.URL:   "404 Not Found",
		"http://" + s.Addr + "?metrics=http://" + s.Addr: "",
	} {
		i, err := New(url)
		if err != nil {
			t.Fatal(err)
		}
		if err = i.Begin(t.Context()); want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		i.Close()
	}
}

// A server that answers as etcd 3.3 does: its gateway has other paths. What isn't known is said, and metrics are read.
func TestOldEtcd(t *testing.T) {
	puts := 5
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"etcdserver":"3.3.27","etcdcluster":"3.3.0"}`)
		case "/metrics":
			fmt.Fprintf(w, "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Put\"} %d\n", puts)
		default:
			http.NotFound(w, r)
		}
	}))
	defer old.Close()
	i, err := New(old.URL)
	if err != nil {
		t.Fatal(err)
	}
	out := inspecttest.Run(t, i, func(*Inspector) { puts = 12 })
	if out.Version != "3.3.27" || len(out.Windows[0].Statements) != 1 || out.Windows[0].Statements[0].Calls != 7 {
		t.Errorf("%s: %+v", out.Version, out.Windows[0].Statements)
	}
	if len(out.Missing) == 0 || out.Missing[0].Text.ID != "inspect-etcd-old" || len(out.Findings) > 0 {
		t.Errorf("%+v, %+v", out.Missing, out.Findings)
	}
}
