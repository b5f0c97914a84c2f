package acceptance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// shelf is an HTTP service that stores texts by path.
type shelf struct {
	mu    sync.Mutex
	texts map[string]string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	text, there := s.texts[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		s.texts[r.URL.Path] = string(body)
	case r.Method == http.MethodDelete:
		delete(s.texts, r.URL.Path)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, text)
	}
}

// service starts a shelf and returns it as a stand.
func service(t *testing.T) stand {
	t.Helper()
	s := httptest.NewServer(&shelf{texts: map[string]string{}})
	t.Cleanup(s.Close)
	return stand{proto: "http", addr: s.Listener.Addr().String()}
}

const ordersTable = `
tables_schema:
  - name: orders
    row_count: 0
    columns:
      - {name: id, type: Unsigned, range: [1, 1000000], unique: true}
      - {name: note, type: String, range: [3, 12]}
    primary_keys: [id]
`

// ordersPlan writes orders. Its second request deletes the first order and its third one changes the second, without
// the knowledge of the reader that reads the writes back.
const ordersPlan = `
config_name: orders
sessions: 1
verify: {patience: 2s}
mix: turn
turns: [1, 1, 1, 1, 2, 1, 1, 1, 1, 3]
load: [{closed: {operations: 200}}]
`

// ordersOver contains the requests of ordersPlan by protocol.
var ordersOver = map[string]string{
	"pg": ordersTable + `
queries:
  - name: put
    sql: insert into orders (id, note) values ($1, $2)
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {sql: select note from orders where id = $1, capture: [note]}, expect: [2]}
  - {name: rogue, sql: delete from orders where id = 1}
  - {name: rogue too, sql: update orders set note = 'changed' where id = 2}
`,
	"iproto": ordersTable + `
queries:
  - name: put
    insert: orders
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {select: orders, capture: [1]}, expect: [2]}
  - {name: rogue, delete: orders, params: [{type: Unsigned, range: [1, 1]}]}
  - {name: rogue too, replace: orders, params: [{type: Unsigned, range: [2, 2]}, {type: Constant, value: changed}]}
`,
	"redis": `
queries:
  - name: put
    command: [SET, "verified:$1", $2]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "verified:$1"], capture: [0]}, expect: [2]}
  - {name: rogue, command: [DEL, "verified:1"]}
  - {name: rogue too, command: [SET, "verified:2", changed]}
`,
	"etcd": `
queries:
  - name: put
    insert: orders
    fields: [note]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {read: orders, fields: [note], capture: [note]}, expect: [2]}
  - {name: rogue, delete: orders, params: [{type: Unsigned, range: [1, 1]}]}
  - {name: rogue too, insert: orders, fields: [note], params: [{type: Unsigned, range: [2, 2]}, {type: Constant, value: changed}]}
`,
	"http": `
queries:
  - name: put
    http: {method: PUT, path: /orders/$1, body: $2}
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {http: /orders/$1, capture: [body]}, expect: [2]}
  - {name: rogue, http: {method: DELETE, path: /orders/1}}
  - {name: rogue too, http: {method: PUT, path: /orders/2, body: changed}}
`,
}

// Rows that something else deletes or changes are reported as lost or wrong writes, over every protocol and in both
// tiers.
func TestWritesAreReadBack(t *testing.T) {
	t.Parallel()
	stands := map[string]func(t *testing.T) stand{
		"pg": postgres, "iproto": tarantool, "redis": redis, "http": service,
		"etcd": func(t *testing.T) stand { return of("etcd", servers.Etcd(t)) },
	}
	for proto, queries := range ordersOver {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			s := stands[proto](t)
			for _, tier := range []string{"codec", "library"} {
				t.Run(tier, func(t *testing.T) {
					plan := shell.File(t, "plan.yml", ordersPlan+"tier: "+tier+"\n"+queries)
					o := load(t, s.with("run", plan, "--quiet")...)
					if o.run == nil || o.code != 99 {
						t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
					}
					if o.run.Total.Failed > 0 {
						t.Errorf("%d failed: %+v", o.run.Total.Failed, o.run.Failures)
					}
					v := o.run.Verified.Sum()
					if v.Acknowledged != 160 || v.OK != 158 || v.Lost != 1 || v.Unexpected != 1 || v.Wrong() != 2 {
						t.Errorf("it found %+v", v)
					}
					checkOrders(t, o.run)
				})
			}
		})
	}
}

// checkOrders checks what a run of ordersPlan reports about lost and changed writes.
func checkOrders(t *testing.T, run *record.Run) {
	t.Helper()
	bad := map[string]record.BadWrite{}
	for _, w := range run.Verified.Bad {
		bad[w.Fate] = w
	}
	lost, changed := bad["lost"], bad["unexpected"]
	if lost.Key != "1" || lost.Index != 0 || lost.Found != "" || lost.Address != run.Targets[0].Address {
		t.Errorf("lost is %+v", lost)
	}
	if lost.EndNs <= 0 || lost.EndNs < lost.SentNs || len(lost.Wrote) != 8 {
		t.Errorf("lost is %+v", lost)
	}
	if changed.Key != "2" || changed.Found != "changed" {
		t.Errorf("changed is %+v", changed)
	}
	why := strings.Join(run.Verdict.Texts(), "\n")
	if run.Verdict.Result != "fail" || !strings.Contains(why,
		"1 acknowledged write was lost; the first, put of key 1, was") {
		t.Errorf("the verdict is %s: %s", run.Verdict.Result, why)
	}
}

// A load whose writes are all present passes, and keys that the load itself deletes may be missing.
func TestWritesThatAreThere(t *testing.T) {
	t.Parallel()
	s := postgres(t)
	plan := shell.File(t, "plan.yml", `
sessions: 4
verify: {patience: 2s}
load: [{closed: {operations: 2000}}]
`+ordersTable+`
queries:
  - name: put
    sql: insert into orders (id, note) values ($1, $2) on conflict (id) do update set note = excluded.note
    params: [{type: Unsigned, range: [1, 50], distribution: Zipf}, {type: String, range: [8, 8]}]
    verify: {read: {sql: select note from orders where id = $1, capture: [note]}, expect: [2]}
  - name: drop
    sql: delete from orders where id = $1
    weight: 0.2
    params: [{type: Unsigned, range: [1, 50]}]
    verify: {read: {sql: select note from orders where id = $1, capture: [note]}}
`)
	o := load(t, s.with("run", plan, "--quiet")...)
	if o.run == nil || !judged(o.code) {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	v := o.run.Verified.Sum()
	if v.Acknowledged < 1000 || v.Wrong()+v.Stale+v.Unchecked() != 0 || v.OK+v.Overwritten != v.Acknowledged || v.OK == 0 {
		t.Errorf("it found %+v", v)
	}
}

// Duplicate rows are reported.
func TestDuplicatesAreFound(t *testing.T) {
	t.Parallel()
	s := postgres(t)
	plan := shell.File(t, "plan.yml", ordersPlan+`
prepare: [{sql: "create table plain (id bigint, note text)"}]
queries:
  - name: put
    sql: insert into plain (id, note) values ($1, $2)
    params: [{type: Integer, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {sql: select note from plain where id = $1, capture: [note]}, expect: [2]}
  - {name: rogue, sql: insert into plain select * from plain where id = 3 limit 1}
  - {name: rogue too, sql: select 1}
`)
	o := load(t, s.with("run", plan, "--quiet")...)
	if o.run == nil || o.code != 99 {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	if v := o.run.Verified.Sum(); v.Duplicated != 1 || v.Wrong() != 1 || v.OK != 159 {
		t.Errorf("it found %+v", v)
	}
}

// Without an acknowledged write, or without a reading, nothing is known about the writes, so the result is not a
// success.
func TestNothingReadBackIsNoSuccess(t *testing.T) {
	t.Parallel()
	const write = `
sessions: 1
verify: {patience: 300ms}
load: [{closed: {operations: 20}}]
queries:
  - {name: ping, command: [PING]}
  - name: put
    weight: %s
    command: [SET, "unread:$1", $2]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [%s, "unread:$1"], capture: [0]}, expect: [2]}
`
	for name, row := range map[string]struct{ weight, read, says string }{
		"no write":         {"0", "GET", "no write was acknowledged"},
		"no reading works": {"1", "LRANGE", "none was read back"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := shell.File(t, "plan.yml", fmt.Sprintf(write, row.weight, row.read))
			o := load(t, redis(t).with("run", plan, "--quiet")...)
			if o.run == nil || o.code != 98 || !strings.Contains(strings.Join(o.run.Verdict.Texts(), "\n"), row.says) {
				t.Fatalf("exit %d\n%s", o.code, o.out)
			}
		})
	}
}

// Writes that a node takes no part in although it takes writes are lost there, and a node that is down is not read.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	one, other := testserver.Redis(t), testserver.Redis(t)
	plan := shell.File(t, "plan.yml", `
target: {protocol: redis, addresses: ["`+one.Addr+`", "`+other.Addr+`"]}
sessions: 2
verify: {patience: 2s}
load: [{closed: {sessions: 1, operations: 50}}]
queries:
  - name: put
    command: [SET, "differs:$1", $2]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "differs:$1"], capture: [0]}, expect: [2]}
`)
	o := load(t, "run", plan, "--quiet")
	if o.run == nil || o.code != 99 {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	v := o.run.Verified
	if sum := v.Sum(); sum.Lost != 50 || sum.Stale != 0 || sum.Wrong() != 50 {
		t.Errorf("it found %+v", sum)
	}
	if len(v.Nodes) != 2 || v.Nodes[0].OK+v.Nodes[1].OK != 50 || v.Nodes[0].Missing+v.Nodes[1].Missing != 50 {
		t.Errorf("by node: %+v", v.Nodes)
	}
	other.Stop()
	again := brunt(t, "verify", o.dir, "--output", "json")
	if again.code != 0 && again.code != 99 || !strings.Contains(again.out, `"unread": 50`) {
		t.Errorf("exit %d\n%s%s", again.code, again.out, again.err)
	}
}

// The writes of a killed load are read back by its bundle, and writes whose records had not reached the disk are not
// reported as good.
func TestAKilledLoadIsReadBack(t *testing.T) {
	t.Parallel()
	s := redis(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	plan := shell.File(t, "plan.yml", `
interval: 50ms
sessions: 4
verify: {patience: 2s}
load: [{constant: {rate: 400, duration: 1h}}]
queries:
  - name: put
    command: [SET, "killed:$1", $2]
    params: [{type: Unsigned, range: [1, 1000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "killed:$1"], capture: [0]}, expect: [2]}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, s.with("run", plan, "--quiet", "--bundle", dir)...)
	cmd.Env = append(os.Environ(), roleVariable+"=brunt")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shell.Until(t, "some writes are on the disk", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, record.WritesFile))
		return strings.Count(string(b), "\n") > 3
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	run := readRun(t, dir)
	before := run.Verified.Sum()
	if before.Acknowledged == 0 || before.NotChecked != before.Acknowledged || before.OK != 0 {
		t.Fatalf("before they are read back: %+v", before)
	}
	o := brunt(t, s.with("verify", dir)...)
	if o.code != 0 || !strings.Contains(o.out, "WRITES") {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	deleted := brunt(t, s.with("run", shell.File(t, "delete.yml", `
sessions: 1
load: [{closed: {operations: 1}}]
queries: [{name: rogue, command: [DEL, "killed:1"]}]
`), "--quiet", "--no-record")...)
	if !judged(deleted.code) {
		t.Fatalf("exit %d\n%s", deleted.code, deleted.err)
	}
	if o := brunt(t, s.with("verify", dir)...); o.code != 99 || !strings.Contains(o.out, "lost") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.err)
	}
}

// A bundle whose writes can't be read back is refused with a one-line message before anything is sent.
func TestVerifyOfWhatHasNone(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: ping, command: [PING]}]\nload: [{closed: {operations: 3}}]\n")
	o := load(t, redis(t).with("run", plan, "--quiet")...)
	again := brunt(t, redis(t).with("verify", o.dir)...)
	if again.code != 104 || !strings.Contains(again.err, "has no verify") {
		t.Errorf("exit %d\n%s", again.code, again.err)
	}
	oneLine(t, again.err)
	if none := brunt(t, "verify", t.TempDir()); none.code != 104 {
		t.Errorf("exit %d\n%s", none.code, none.err)
	}
}
