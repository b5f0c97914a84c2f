package etcdbench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"

	clientv3 "go.etcd.io/etcd/client/v3"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result/resulttest"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// benchmark runs a command line and returns what it prints.
func benchmark(t *testing.T, addr, line string) (out string, err error) {
	t.Helper()
	out, errors, err := told(addr, line+" --quiet")
	if errors != "" {
		t.Logf("%s: %s", line, errors)
	}
	return out, err
}

// told runs a command line and returns what it prints on standard output and standard error.
func told(addr, line string) (out, errors string, err error) {
	var stdout, stderr bytes.Buffer
	args, _ := rewrite(strings.Fields("--endpoints " + addr + " " + line + " --no-record --awake off"))
	cmd := newBenchmark(&command.Env{Out: &stdout, Err: &stderr, Args: []string{"brunt"}})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return stdout.String(), stderr.String(), err
}

// What commands leave in a real etcd is what benchmark leaves there, and their reports can be read.
func TestCommandsOnEtcd(t *testing.T) {
	s := testserver.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	revision, keys := int64(1), int64(0) // expected
	for _, c := range []struct {
		line         string
		writes, keys int64 // added
		shows        []string
	}{
		{"put --total 200 --sequential-keys --key-space-size 100 --conns 2 --clients 8", 200, 164, nil}, // see TestKeys
		{"put --total 50 --rate 1000 --val-size 20 --key-size 4 --prefix p: --check-hashkv --sample", 50, 1, []string{
			"Sample in one second (unix latency throughput):\nUNIX-SECOND,", "HashKV Summary:\n\tHashKV: "}},
		{"range p: --prefix --total 40 --consistency s --precise", 0, 0, []string{"bench with serializable range\n"}},
		{"txn-put --txn-ops 3 --key-space-size 30 --key-size 5 --total 10", 10, 30, nil},
		{"txn-mixed x --total 30 --key-size 6", -1, 1, []string{"bench with linearizable range\nTotal Read Ops: ",
			"Total Write Ops: "}},
		{"lease-keepalive --total 50 --clients 5", 0, 0, nil},
		{"put --total 10 --tier library --key-size 9", 10, 1, nil},
	} {
		out, err := benchmark(t, s.Addr, c.line)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		if _, err := ParseResult([]byte(out)); err != nil {
			t.Errorf("%s: %v:\n%s", c.line, err, out)
		}
		for _, want := range c.shows {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.line, want, out)
			}
		}
		got, err := client.Get(t.Context(), "\x00", clientv3.WithRange("\x00"), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if keys += c.keys; got.Count != keys {
			t.Errorf("%s: %d keys, want %d", c.line, got.Count, keys)
		}
		if c.writes < 0 {
			revision = got.Header.Revision
		}
		if revision += max(c.writes, 0); got.Header.Revision != revision {
			t.Errorf("%s: revision %d, want %d", c.line, got.Header.Revision, revision)
		}
	}
	leases, err := client.Leases(t.Context())
	if err != nil || len(leases.Leases) != 5 {
		t.Errorf("%v, %v", leases, err)
	}
	out, err := benchmark(t, s.Addr, "put --total 4 --val-size 3000000 --tier library")
	if err != nil || !strings.HasPrefix(out, "\nError distribution:\n  [4]\t") {
		t.Errorf("%v: %s", err, out)
	}
	_, errors, err := told(s.Addr, "put --total 4 --threshold count>1000")
	if exitcode.Of(err) != exitcode.Threshold ||
		!strings.Contains(errors, "brunt: fail; no record was kept\nbrunt: threshold ") {
		t.Errorf("why a rule doesn't hold isn't said: %v, %s", err, errors)
	}
}

// The example has a line of each command, and each line's load succeeds.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../../examples/etcd-benchmark.sh")
	if err != nil {
		t.Fatal(err)
	}
	s := testserver.Etcd(t)
	tried := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, `brunt etcd-benchmark --endpoints "$1" `)
		if !ok {
			continue
		}
		out, err := benchmark(t, s.Addr, rest)
		if err != nil {
			t.Fatalf("%s: %v", rest, err)
		}
		if _, err := ParseResult([]byte(out)); err != nil || strings.Contains(out, "Error distribution") {
			t.Errorf("%s: %v\n%s", rest, err, out)
		}
		for _, name := range names {
			tried[name] = tried[name] || strings.Contains(" "+rest, " "+name+" ")
		}
	}
	for _, name := range names {
		if !tried[name] {
			t.Errorf("the example has no %s", name)
		}
	}
}

// Transactions of all isolations, with conflicts, leave exactly the versions that their number of puts makes: each
// transaction commits once.
func TestSTM(t *testing.T) {
	s := testserver.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	puts := int64(0)
	for _, c := range []string{"--isolation c", "--isolation r", "--isolation s", "--isolation ss",
		"--isolation ss --tier library", "--isolation s --stm-locker lock-rpc --total 20"} {
		out, err := benchmark(t, s.Addr, "stm --total 200 --clients 8 --keys 4 --keys-per-txn 3 --txn-wr-percent 67 "+c)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		r, err := ParseResult([]byte(out))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", c, err, out)
		}
		if m := r.Find("errors", ""); m.Value != 0 {
			t.Errorf("%s: %v", c, out)
		}
		puts += 2 * int64(r.Find("count", "").Value) // 67 % of 3
		versions := int64(0)
		for i := range 4 {
			key := make([]byte, 16)
			binary.PutVarint(key, int64(i))
			got, err := client.Get(t.Context(), string(key))
			if err != nil || len(got.Kvs) != 1 || len(got.Kvs[0].Value) != 8 {
				t.Fatalf("%s: key %d: %v, %v", c, i, got, err)
			}
			versions += got.Kvs[0].Version
		}
		if versions != puts {
			t.Errorf("%s: %d versions, want %d", c, versions, puts)
		}
	}
}

// Commands that watch receive an event for each put at each watch.
func TestWatches(t *testing.T) {
	s := testserver.Etcd(t)
	for _, c := range []struct {
		line string
		want map[string]float64
	}{
		{"watch --streams 3 --watch-per-stream 4 --watched-key-total 5 --key-space-size 5 --sequential-keys --put-total 25 " +
			"--clients 2", map[string]float64{"watch creation: count": 12, "watch events received: count": 60}},
		{"watch --streams 2 --watch-per-stream 2 --put-total 10 --put-rate 500",
			map[string]float64{"watch creation: count": 4, "watch events received: count": 40}},
		{"watch-latency --streams 2 --watchers-per-stream 3 --put-total 20 --put-rate 500 --prevkv",
			map[string]float64{"put: count": 20, "watch events: count": 120}},
	} {
		out, err := benchmark(t, s.Addr, c.line)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		r, err := ParseResult([]byte(out))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", c.line, err, out)
		}
		resulttest.Expect(t, r, c.want)
	}
	out, err := benchmark(t, s.Addr, "watch-get --streams 2 --watchers 21 --events 4")
	if err != nil || !strings.HasPrefix(out, "Get during watch summary:\n\nSummary:\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// A failed put ends its session before its time; a failed get doesn't.
func TestSessionsThatGiveUp(t *testing.T) {
	for request, want := range map[int]bool{reqPut: true, reqGet: false} {
		s := &watchSession{p: &watchProgram{}, sent: request}
		step := s.Answered(&protocol.Reply{Failure: protocol.Failure{Class: protocol.Connect}})
		if step.Quit != want || s.Aborted() != want {
			t.Errorf("request %d: the session quits: %v, gave up: %v, want %v", request, step.Quit, s.Aborted(), want)
		}
	}
}

// Requests over two connections to a cluster go to all members.
func TestCluster(t *testing.T) {
	members := testserver.EtcdCluster(t, 3)
	var addresses []string
	for _, m := range members {
		addresses = append(addresses, m.Addr)
	}
	for _, line := range []string{"put --total 60 --conns 2 --clients 6", "--target-leader put --total 60 --rate 500",
		"--auto-sync-interval 1s range x --total 20"} {
		out, err := benchmark(t, strings.Join(addresses, ","), line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r, err := ParseResult([]byte(out)); err != nil || r.Find("errors", "").Value != 0 {
			t.Errorf("%s: %v\n%s", line, err, fmt.Sprint(out))
		}
	}
}
