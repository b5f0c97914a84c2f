package clusters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"

	"brunt/internal/cli"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// keeper is a cluster whose leader is killed while it acknowledges writes of the keys 1, 2, 3 …
type keeper struct {
	plan   string                             // the target and queries of a load on it
	strike func(t *testing.T) error           // called under load; returns when the leader is dead
	kept   func(t *testing.T) map[uint64]bool // the keys that the cluster has, by a client of its own
}

// losing is the common part of all plans. The fault is a request to the test, which kills the leader.
const losing = `
config_name: losses
sessions: 32
retries: 0
late: drop
timeouts: {operation: 1s, connect: 1s}
interval: 250ms
account: {deadline: 1s}
verify: {after: each-fault, patience: %[1]v}
thresholds: [errors < 100%%]
load:
  - constant: {rate: 200, duration: %[2]v}
faults:
  - {name: kill the leader, at: 2s, http: {inject: {path: /, origin: "%[3]s"}, timeout: 2m}}
`

// The times of a load whose leader is killed. Readings wait for a new leader, and everything is also read after the
// fault.
const (
	losingPatience = 2 * testserver.PatroniTTL
	losingLasts    = losingPatience + 10*time.Second
)

// lossTable contains the losses of all clusters, with a row for each.
type lossTable struct{ strings.Builder }

const lossTableHead = "| Cluster | acknowledged | lost, says brunt | missing, says the client | the same keys | " +
	"without answer: applied, not |\n|---|---|---|---|---|---|\n"

// The writes that brunt reports as lost are exactly those that an independent client doesn't find.
func TestLostWritesAreThoseThatAreMissing(t *testing.T) {
	all := &lossTable{}
	all.WriteString(lossTableHead)
	for _, c := range []struct {
		cluster string
		loses   bool
		start   func(t *testing.T) *keeper
	}{
		{"etcd, 3 members", false, etcdKeeps},
		{"PostgreSQL, 3 under Patroni, asynchronous, replication held back", true, patroniKeeps(false)},
		{"PostgreSQL, 3 under Patroni, synchronous, replication held back", false, patroniKeeps(true)},
	} {
		t.Run(c.cluster, func(t *testing.T) {
			k := c.start(t)
			b, said := k.run(t)
			t.Log(said)
			acknowledged := acknowledgedKeys(t, b)
			kept := k.kept(t)
			missing := map[uint64]bool{}
			for key := range acknowledged {
				if !kept[key] {
					missing[key] = true
				}
			}
			v := b.Run.Verified
			sum := v.Sum()
			named := namedKeys(t, v.Bad)
			if len(acknowledged) == 0 || sum.Acknowledged != uint64(len(acknowledged)) {
				t.Errorf("it counts %d acknowledged writes, and has recorded %d", sum.Acknowledged, len(acknowledged))
			}
			same(t, "after the run", named, missing)
			if sum.Lost != uint64(len(missing)) || sum.Wrong() != sum.Lost || v.LostMeanwhile != 0 {
				t.Errorf("it counts %+v, lost meanwhile %d; %d are missing", sum, v.LostMeanwhile, len(missing))
			}
			if len(v.AfterFaults) != 1 {
				t.Fatalf("%d readings after the fault: %+v", len(v.AfterFaults), v.AfterFaults)
			}
			a := &v.AfterFaults[0]
			if after := a.Sum(); after.Acknowledged == 0 || after.Unchecked() != 0 {
				t.Errorf("after the fault it read %+v", after)
			}
			same(t, "after the fault", namedKeys(t, a.Bad), missing)
			if failed := strings.HasPrefix(said, "exit 99"); c.loses && (len(missing) == 0 || !failed) {
				t.Errorf("%d were lost; the run: %s", len(missing), strings.SplitN(said, "\n", 2)[0])
			}
			if !c.loses && len(missing) > 0 {
				t.Errorf("%d were lost", len(missing))
			}
			fmt.Fprintf(all, "| %s | %d | %d | %d | yes | %d, %d |\n", c.cluster, len(acknowledged), sum.Lost, len(missing),
				sum.UnknownApplied, sum.UnknownNotApplied)
		})
	}
	fmt.Print(all)
	if *write && !t.Failed() {
		replace(t, page, "losses", all.String())
	}
}

// same fails the test unless two sets of keys are equal.
func same(t *testing.T, when string, named, missing map[uint64]bool) {
	t.Helper()
	for key := range named {
		if !missing[key] {
			t.Errorf("%s: key %d is there, and is called lost", when, key)
		}
	}
	for key := range missing {
		if !named[key] {
			t.Errorf("%s: key %d is missing, and isn't called lost", when, key)
		}
	}
}

// run runs the load and returns its record and its output.
func (k *keeper) run(t *testing.T) (*record.Recorded, string) {
	t.Helper()
	dir := t.TempDir()
	plan, bundle := filepath.Join(dir, "plan.yml"), filepath.Join(dir, "bundle")
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := k.strike(t); err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(hook.Close)
	text := k.plan + fmt.Sprintf(losing, losingPatience, losingLasts, hook.URL)
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := cli.Main("test", []string{"brunt", "run", "-c", plan, "--bundle", bundle, "--quiet", "--allow-faults"},
		strings.NewReader(""), &out, &errs)
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return b, fmt.Sprintf("exit %d\n%s%s", code, out.String(), errs.String())
}

// acknowledgedKeys returns the keys of a run's acknowledged writes. Operation i writes key i + 1.
func acknowledgedKeys(t *testing.T, b *record.Recorded) map[uint64]bool {
	t.Helper()
	out := map[uint64]bool{}
	_, err := b.Writes(func(w *record.Write) error {
		if w.Effect == protocol.Applied || w.Effect == protocol.AppliedAgain {
			out[w.Index+1] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// namedKeys returns the keys that a run reports as lost.
func namedKeys(t *testing.T, all []record.BadWrite) map[uint64]bool {
	t.Helper()
	out := map[uint64]bool{}
	for _, w := range all {
		key, err := strconv.ParseUint(w.Key, 10, 64)
		if err != nil || w.Fate != "lost" {
			text, _ := json.Marshal(w)
			t.Errorf("a write that isn't as it was: %s", text)
			continue
		}
		out[key] = true
	}
	return out
}

// until waits up to a minute until a condition holds.
func until(what string, holds func() (bool, error)) error {
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ok, err := holds()
		if ok && err == nil {
			return nil
		}
		last = err
	}
	return fmt.Errorf("waited in vain until %s: %w", what, last)
}

func etcdKeeps(t *testing.T) *keeper {
	members := testserver.EtcdCluster(t, 3)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr)
	}
	leader := leads(t, members)
	return &keeper{
		plan: fmt.Sprintf(`
target: {protocol: etcd, addresses: [%s]}
queries:
  - name: put
    insert: event
    fields: [note]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {read: event, fields: [note], capture: [note]}, expect: [2]}
`, strings.Join(addrs, ", ")),
		strike: func(*testing.T) error {
			members[leader].Kill()
			return nil
		},
		kept: func(t *testing.T) map[uint64]bool {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{members[(leader+1)%3].Addr}})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			all, err := client.Get(ctx, "event:", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				t.Fatal(err)
			}
			out := map[uint64]bool{}
			for _, kv := range all.Kvs {
				key, err := strconv.ParseUint(strings.TrimPrefix(string(kv.Key), "event:"), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				out[key] = true
			}
			return out
		},
	}
}

// heldBack is the number of writes that an asynchronous primary acknowledges after it has stopped sending them to its
// replicas.
const heldBack = 200

// patroniKeeps returns a cluster whose primary stops sending to its replicas and is then killed. In between, an
// asynchronous primary continues to acknowledge writes, and a synchronous one doesn't.
func patroniKeeps(synchronous bool) func(t *testing.T) *keeper {
	return func(t *testing.T) *keeper {
		members := testserver.PatroniCluster(t, 3, synchronous)
		members[0].Psql(t, "CREATE TABLE event (id bigint PRIMARY KEY, note text)")
		var addrs, rest []string
		for _, m := range members {
			addrs, rest = append(addrs, m.Addr), append(rest, m.REST)
		}
		return &keeper{
			plan: fmt.Sprintf(`
target:
  protocol: pg
  addresses: [%s]
  user: brunt
  database: postgres
  topology: {source: patroni, from: [%s], every: 20ms}
queries:
  - name: put
    route: primary
    sql: insert into event (id, note) values ($1, $2)
    params: [{type: Integer, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {sql: select note from event where id = $1, capture: [note]}, expect: [2]}
`, strings.Join(addrs, ", "), strings.Join(rest, ", ")),
			strike: func(*testing.T) error { return holdAndKill(members, synchronous) },
			kept:   func(t *testing.T) map[uint64]bool { return rowsOnPrimary(t, members) },
		}
	}
}

// holdAndKill stops the processes that send to replicas, waits for the primary's reaction, and kills the primary.
func holdAndKill(members []*testserver.PatroniMember, synchronous bool) error {
	leader := testserver.PatroniLeader(members)
	if leader == nil {
		return errors.New("no member leads")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn(leader))
	if err != nil {
		return err
	}
	number := func(sql string) (n int64, err error) { return n, conn.QueryRow(ctx, sql).Scan(&n) }
	var pids []int32
	if err := conn.QueryRow(ctx, "SELECT array_agg(pid) FROM pg_stat_replication").Scan(&pids); err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(int(pid), syscall.SIGSTOP); err != nil {
			return err
		}
	}
	before, err := number("SELECT count(*) FROM event")
	if err != nil {
		return err
	}
	what, sql, want := "writes are held back", "SELECT count(*) FROM event", before+heldBack
	if synchronous {
		what, sql, want = "writes wait", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", 3
	}
	err = until(what, func() (bool, error) {
		n, err := number(sql)
		return n >= want, err
	})
	leader.Kill()
	return err
}

func dsn(m *testserver.PatroniMember) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", m.Host, m.Port, m.User, m.Database)
}

// rowsOnPrimary returns the keys on the primary, as soon as there is one.
func rowsOnPrimary(t *testing.T, members []*testserver.PatroniMember) map[uint64]bool {
	t.Helper()
	out := map[uint64]bool{}
	err := until("there is a primary", func() (bool, error) {
		var conn *pgx.Conn
		var recovers bool
		err := errors.New("no member leads")
		for _, m := range members {
			c, failed := pgx.Connect(t.Context(), dsn(m))
			if failed != nil {
				continue
			}
			if c.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers {
				conn = c
				break
			}
			_ = c.Close(t.Context())
		}
		if conn == nil {
			return false, err
		}
		defer conn.Close(t.Context())
		rows, err := conn.Query(t.Context(), "SELECT id FROM event")
		if err != nil {
			return false, err
		}
		keys, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, key := range keys {
			out[uint64(key)] = true
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
