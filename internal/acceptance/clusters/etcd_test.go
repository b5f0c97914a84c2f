package clusters_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"brunt/internal/cli"
	"brunt/internal/record"
	"brunt/internal/testserver"
)

// agreement is how far the outage that brunt reports may be from the observer's: 2 %, or 20 ms.
func agreement(outage time.Duration) time.Duration { return max(outage/50, 20*time.Millisecond) }

const etcdPlan = `
config_name: failover
target: {protocol: etcd, addresses: [%s]}
sessions: 256
retries: 0
late: drop
timeouts: {operation: 100ms, connect: 100ms}
interval: 250ms
account: {deadline: 100ms, tolerance: 20ms, hold: 1s}
queries:
  - {name: put, update: k, fields: [v], params: [{type: Integer, range: [1, 1000]}, {type: constant, value: x}], weight: 1}
load:
  - constant: {rate: 1000, duration: 4s}
thresholds: [errors < 100%%]
`

// The outage that follows when etcd's leader is killed or stopped is as long in brunt's account as it is for an
// observer that writes to every member every 5 ms.
func TestEtcdLosesItsLeader(t *testing.T) {
	for name, strike := range map[string]func(s *testserver.Server) (heal func()){
		"killed":  func(s *testserver.Server) func() { s.Kill(); return func() {} },
		"stopped": func(s *testserver.Server) func() { s.Pause(); return s.Resume },
	} {
		t.Run(name, func(t *testing.T) {
			var reported, observed time.Duration
			for range rounds {
				reported, observed = etcdOutage(t, testserver.EtcdCluster(t, 3), strike)
				if (reported - observed).Abs() <= agreement(observed) {
					return
				}
			}
			t.Errorf("an outage of %v, the observer had one of %v", reported, observed)
		})
	}
}

// rounds is how many outages in a row may differ before the account is wrong: brunt, the observer and the cluster share
// one machine, on which any of them may be late.
const rounds = 3

// reportedOutage is the longest outage of all arrivals in a run's account.
func reportedOutage(t *testing.T, run *record.Run) time.Duration {
	t.Helper()
	f := run.Failover
	if !f.Refused.IsZero() {
		t.Fatalf("no account: %v", f.Refused)
	}
	if len(f.Incidents) == 0 || f.Incidents[0].Never {
		t.Errorf("incidents: %+v", f.Incidents)
	}
	longest := int64(0)
	for _, o := range f.Outages {
		if o.Scope == (record.Scope{}) {
			longest = max(longest, o.EndNs-o.StartNs)
		}
	}
	return time.Duration(longest)
}

// etcdOutage runs a load whose leader is struck within it, and returns how long nothing succeeded.
func etcdOutage(t *testing.T, members []*testserver.Server, strike func(*testserver.Server) func()) (reported,
	observed time.Duration) {
	t.Helper()
	var addrs []string
	var clients []*clientv3.Client
	for _, m := range members {
		addrs = append(addrs, m.Addr)
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Addr}, Logger: zap.NewNop(), DialTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	dir := t.TempDir()
	plan, bundle := filepath.Join(dir, "plan.yml"), filepath.Join(dir, "bundle")
	if err := os.WriteFile(plan, fmt.Appendf(nil, etcdPlan, strings.Join(addrs, ", ")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := observe(t, len(members), func(ctx context.Context, node, tick int) error {
		_, err := clients[node].Put(ctx, "observer", fmt.Sprint(tick))
		return err
	})
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
	leader := testserver.EtcdLeader(members)
	if leader == nil {
		t.Fatal("no member leads")
	}
	heal := strike(leader)
	said := <-ended
	observed = o.end()
	heal()
	t.Log(said)
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		t.Fatal(err)
	}
	reported = reportedOutage(t, b.Run)
	t.Logf("reported %v, observed %v", reported, observed)
	return reported, observed
}
