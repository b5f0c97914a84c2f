package acceptance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
)

// gated is a shelf whose requests can be held back.
type gated struct {
	shelf
	puts, gets atomic.Int64
	rogue      func()        // called by POST /rogue
	put        func(n int64) // called before PUT number n, from 1, is answered and after it was applied
	// get is called before GET number n is served. gone is closed when its client has left.
	get func(n int64, gone <-chan struct{})
}

func (g *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		g.rogue()
		return
	case r.Method == http.MethodGet && g.get != nil:
		g.get(g.gets.Add(1), r.Context().Done())
	}
	g.shelf.ServeHTTP(w, r)
	if r.Method == http.MethodPut {
		if n := g.puts.Add(1); g.put != nil {
			g.put(n)
		}
	}
}

// remove deletes a text without the load's knowledge.
func (g *gated) remove(path string) {
	g.mu.Lock()
	delete(g.texts, path)
	g.mu.Unlock()
}

// serve starts the shelf and returns its address.
func (g *gated) serve(t *testing.T) string {
	t.Helper()
	g.texts = map[string]string{}
	if g.rogue == nil {
		g.rogue = func() {}
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// aftermathPlan writes 100 keys twice. Its fault is a POST request to the service, which may be held back.
const aftermathPlan = `
config_name: aftermath
target: {protocol: http, addresses: [%[1]s]}
sessions: 1
timeouts: {operation: 10m}
interval: 50ms
account: {deadline: 1s}
verify: {patience: 300ms, after: each-fault}
queries:
  - name: put
    http: {method: PUT, path: /orders/$1, body: $2}
    params: [{type: Unsigned, range: [1, 100], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {http: /orders/$1, capture: [body]}, expect: [2]}
load: [{closed: {operations: 200}}]
faults:
  - {name: rogue, at: 100ms, http: {inject: {path: /rogue, origin: "http://%[2]s"}, timeout: 10m}}
`

// ended reports whether a load with faults ran to its end. On a busy machine it may not be as fast after them as
// before, which is no recovery.
func ended(code int) bool { return judged(code) || code == 99 }

// readings waits until a bundle contains n readings after faults.
func readings(t *testing.T, dir string, n int) {
	t.Helper()
	shell.Until(t, "writes are read back after a fault", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, record.VerifiedFile))
		return strings.Count(string(b), "\n") >= n
	})
}

// writesDone returns a channel that is closed with the n-th PUT, and the hook that closes it.
func writesDone(n int64) (done chan struct{}, put func(int64)) {
	done = make(chan struct{})
	return done, func(have int64) {
		if have == n {
			close(done)
		}
	}
}

// A write that a fault loses is detected even if the key is overwritten before the run ends, and the run fails.
func TestLossesAreFoundAfterEachFault(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	g := &gated{}
	done, put := writesDone(99)
	g.rogue = func() {
		<-done
		g.remove("/orders/7")
	}
	g.put = func(n int64) {
		if put(n); n == 100 {
			readings(t, dir, 1)
		}
	}
	address := g.serve(t)
	o := brunt(t, "run", shell.File(t, "plan.yml", fmt.Sprintf(aftermathPlan, address, address)), "--allow-faults",
		"--quiet",
		"--bundle", dir)
	run := readRun(t, dir)
	if o.code != 99 {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	v := run.Verified
	if sum := v.Sum(); sum.Lost != 0 || sum.Wrong() != 0 || v.LostMeanwhile != 1 {
		t.Errorf("at the end: %+v, lost meanwhile %d", sum, v.LostMeanwhile)
	}
	if len(v.AfterFaults) != 1 {
		t.Fatalf("%d readings after faults: %+v", len(v.AfterFaults), v.AfterFaults)
	}
	a := &v.AfterFaults[0]
	// The server counts a write before it answers, so that the last of 99 may not be acknowledged when the fault begins.
	// The session sends each write after the answer to the one before.
	sum := a.Sum()
	if sum.Acknowledged < 98 || sum.Acknowledged > 99 || sum.OK+sum.Lost != sum.Acknowledged {
		t.Errorf("%d acknowledged, %d as written, %d lost", sum.Acknowledged, sum.OK, sum.Lost)
	}
	if a.Fault != "rogue" || a.NewLost != 1 || sum.Lost != 1 || sum.Wrong() != 1 {
		t.Errorf("after the fault: %+v", a)
	}
	if len(a.Bad) != 1 || a.Bad[0].Key != "7" || a.Bad[0].Address != address || a.Bad[0].Fault != "rogue" ||
		a.Bad[0].AheadNs == 0 && a.Bad[0].EndNs == 0 {
		t.Errorf("lost: %+v", a.Bad)
	}
	why := strings.Join(run.Verdict.Texts(), "\n")
	if !strings.Contains(why, "1 acknowledged write was lost when read back after a fault") ||
		!strings.Contains(why, "put of key 7, was acknowledged by "+address) {
		t.Errorf("the verdict: %s", why)
	}
	for _, text := range []string{"WRITES AFTER FAULTS", "rogue 1", "WRITES THAT AREN'T AS THEY WERE"} {
		if !strings.Contains(o.out, text) {
			t.Errorf("the report doesn't say %q:\n%s", text, o.out)
		}
	}
	var out struct{ Verified *record.Verified }
	if j := brunt(t, "report", dir, "--output", "json"); json.Unmarshal([]byte(j.out), &out) != nil ||
		out.Verified == nil || len(out.Verified.AfterFaults) != 1 {
		t.Errorf("in JSON: %+v", out.Verified)
	}
}

// A key that is written again while it is being read is not reported as lost. Its new value is not reported as unknown,
// although that write has not been answered yet.
func TestWritesUnderWayAreNoLosses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	g := &gated{}
	done, put := writesDone(101) // key 1 for the second time
	g.rogue = func() { <-done }
	g.put = func(n int64) {
		if put(n); n == 101 {
			readings(t, dir, 1)
		}
	}
	address := g.serve(t)
	o := brunt(t, "run", shell.File(t, "plan.yml", fmt.Sprintf(aftermathPlan, address, address)), "--allow-faults",
		"--quiet",
		"--bundle", dir)
	run := readRun(t, dir)
	if !ended(o.code) {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	if len(run.Verified.AfterFaults) != 1 {
		t.Fatalf("%d readings after faults", len(run.Verified.AfterFaults))
	}
	sum := run.Verified.AfterFaults[0].Sum()
	if sum.Acknowledged != 100 || sum.OK != 99 || sum.Overwritten != 1 || sum.Wrong()+sum.Stale+sum.Unchecked() != 0 {
		t.Errorf("after the fault: %+v", sum)
	}
	if run.Verified.LostMeanwhile != 0 {
		t.Errorf("%d lost meanwhile", run.Verified.LostMeanwhile)
	}
}

// Writes that have not been read when the next fault begins are not judged, and the report says so.
func TestTheNextFaultEndsAReading(t *testing.T) {
	t.Parallel()
	var o outcome
	for every, early := 2*time.Second, false; !early; every *= 2 { // on a busy machine the reading may begin too late
		if every > time.Minute {
			t.Fatal("no reading began before the second fault")
		}
		o, early = twoFaults(t, every)
	}
	v := o.run.Verified
	if len(v.AfterFaults) == 0 {
		t.Fatalf("no reading: %+v", v)
	}
	first := &v.AfterFaults[0]
	if sum := first.Sum(); sum.Acknowledged == 0 || sum.NotChecked != sum.Acknowledged || sum.Wrong() != 0 {
		t.Errorf("the first reading: %+v", sum)
	}
	if first.Reason.ID != "verify.next-fault" {
		t.Errorf("its reason is %v", first.Reason)
	}
	warned := false
	for _, w := range o.run.Warnings {
		warned = warned || w.ID == "writes-unchecked-after-fault"
	}
	if !warned {
		t.Errorf("no warning of it: %+v", o.run.Warnings)
	}
}

// twoFaults runs a load with two faults. The server answers reads once the second has begun. It reports whether the
// first read came earlier.
func twoFaults(t *testing.T, every time.Duration) (o outcome, early bool) {
	t.Helper()
	g := &gated{}
	done, put := writesDone(50)
	var first sync.Once
	begun, asked := make(chan struct{}), make(chan struct{})
	rogues := atomic.Int64{}
	g.rogue = func() {
		<-done
		if rogues.Add(1) == 2 {
			close(begun)
		}
	}
	g.put = func(n int64) {
		if put(n); n == 50 {
			<-begun
		}
	}
	g.get = func(_ int64, gone <-chan struct{}) {
		first.Do(func() {
			early = rogues.Load() < 2
			close(asked)
		})
		select {
		case <-begun:
		case <-gone:
		}
	}
	address := g.serve(t)
	plan := fmt.Sprintf(aftermathPlan, address, address)
	plan = strings.Replace(plan, "at: 100ms,", fmt.Sprintf("at: 100ms, every: %s, times: 2,", every), 1)
	plan = strings.Replace(plan, "patience: 300ms", "patience: 10m", 1)
	o = load(t, "run", shell.File(t, "plan.yml", plan), "--allow-faults", "--quiet")
	if o.run == nil || !ended(o.code) {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	<-asked
	return o, early
}

// If Ctrl-C interrupts the reading back, during the load or after it, the writes that were not read are unknown.
func TestReadingBackInterrupted(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]bool{"during the load": true, "after the load": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := 98 // the load was not interrupted, and nothing is known of its writes
			if faults {
				want = 105
			}
			dir := t.TempDir()
			bundle := filepath.Join(dir, "bundle")
			g := &gated{}
			asked, first := make(chan struct{}), sync.Once{}
			release := make(chan struct{})
			done, put := writesDone(50)
			g.rogue = func() { <-done }
			g.put = func(n int64) {
				if put(n); n == 50 && faults {
					<-release
				}
			}
			g.get = func(_ int64, gone <-chan struct{}) {
				first.Do(func() { close(asked) })
				<-gone
			}
			address := g.serve(t)
			plan := fmt.Sprintf(aftermathPlan, address, address)
			if !faults {
				plan = strings.Replace(plan[:strings.Index(plan, "faults:")], ", after: each-fault", "", 1)
			}
			plan = strings.Replace(plan, "patience: 300ms", "patience: 10m", 1)
			c := spawn(t, dir, "run", shell.File(t, "plan.yml", plan), "--allow-faults", "--quiet", "--bundle", bundle)
			<-asked
			c.cmd.Process.Signal(os.Interrupt)
			close(release)
			o := c.wait()
			run := readRun(t, bundle)
			if o.code != want {
				t.Errorf("exit %d, want %d\n%s%s", o.code, want, o.out, o.err)
			}
			sum := run.Verified.Sum()
			if sum.Acknowledged == 0 || sum.Unchecked() != sum.Acknowledged || sum.OK+sum.Wrong() != 0 {
				t.Errorf("it says %+v", sum)
			}
			if run.Verified.Reason.ID != "verify.interrupted" {
				t.Errorf("the reason is %v", run.Verified.Reason)
			}
			for _, a := range run.Verified.AfterFaults {
				if sum := a.Sum(); sum.Unchecked() != sum.Acknowledged || sum.Wrong() != 0 {
					t.Errorf("after the fault: %+v", sum)
				}
			}
		})
	}
}

// A killed run keeps the losses that it has found, and a later reading distinguishes lost writes from those that were
// unavailable for a time.
func TestKilledAfterAReading(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		returns   bool
		code      int
		meanwhile uint64
	}{"lost": {false, 99, 0}, "returned": {true, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			bundle := filepath.Join(dir, "bundle")
			g := &gated{}
			hang := make(chan struct{})
			done, put := writesDone(50)
			text := ""
			g.rogue = func() {
				<-done
				g.mu.Lock()
				text = g.texts["/orders/7"]
				g.mu.Unlock()
				g.remove("/orders/7")
			}
			g.put = func(n int64) {
				if put(n); n == 50 {
					<-hang
				}
			}
			address := g.serve(t)
			t.Cleanup(func() { close(hang) })
			plan := fmt.Sprintf(aftermathPlan, address, address)
			c := spawn(t, dir, "run", shell.File(t, "plan.yml", plan), "--allow-faults", "--quiet", "--bundle", bundle)
			readings(t, bundle, 1)
			c.cmd.Process.Kill()
			c.wait()
			run := readRun(t, bundle)
			if v := run.Verified; v == nil || v.LostMeanwhile != 1 || len(v.AfterFaults) != 1 || v.Sum().OK != 0 {
				t.Fatalf("the killed run says %+v", v)
			}
			if o := brunt(t, "report", bundle); o.code != 99 || !strings.Contains(o.out, "WRITES AFTER FAULTS") {
				t.Errorf("report: exit %d, want 99\n%s", o.code, o.out)
			}
			if row.returns {
				g.mu.Lock()
				g.texts["/orders/7"] = text
				g.mu.Unlock()
			}
			o := brunt(t, "verify", bundle, "--output", "json")
			v := &record.Verified{}
			if err := json.Unmarshal([]byte(o.out), v); err != nil || o.code != row.code {
				t.Fatalf("verify: exit %d, want %d: %v\n%s%s", o.code, row.code, err, o.out, o.err)
			}
			if v.LostMeanwhile != row.meanwhile || len(v.AfterFaults) != 1 || v.AfterFaults[0].Lost() == row.returns {
				t.Errorf("it says %+v", v)
			}
		})
	}
}

// A node that never comes back is not read, and the other nodes show what became of the writes.
func TestANodeThatNeverComesBack(t *testing.T) {
	t.Parallel()
	g := &gated{}
	done, put := writesDone(50)
	address := g.serve(t)
	other := httptest.NewServer(g)
	t.Cleanup(other.Close)
	g.rogue = func() {
		<-done
		go other.Close() // it waits for requests, and this is one
		other.Listener.Close()
		other.CloseClientConnections()
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	g.put = func(n int64) {
		if put(n); n == 51 { // the load goes on when the writes have been read back
			readings(t, dir, 1)
		}
	}
	plan := fmt.Sprintf(aftermathPlan, address+", "+other.Listener.Addr().String(), address)
	plan += "thresholds: [errors < 100%]\n"
	o := brunt(t, "run", shell.File(t, "plan.yml", plan), "--allow-faults", "--quiet", "--bundle", dir)
	if o.run = readRun(t, dir); o.run == nil || len(o.run.Verified.AfterFaults) != 1 {
		t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	a := &o.run.Verified.AfterFaults[0]
	if sum := a.Sum(); sum.Acknowledged == 0 || sum.Wrong()+sum.Stale+sum.Unchecked() != 0 {
		t.Errorf("after the fault: %+v", sum)
	}
	if len(a.Nodes) != 2 || a.Nodes[0].Unread != 0 || a.Nodes[1].Unread != a.Nodes[1].Keys || a.Nodes[1].Keys == 0 {
		t.Errorf("by node: %+v", a.Nodes)
	}
	if sum := o.run.Verified.Sum(); sum.Wrong()+sum.Unchecked() != 0 {
		t.Errorf("at the end: %+v", sum)
	}
}

// Each part of a load reads its own writes back after the faults, and the merged record contains all results.
func TestPartsReadBackAfterFaults(t *testing.T) {
	t.Parallel()
	s, dir := redis(t), t.TempDir()
	plan := shell.File(t, "plan.yml", `
config_name: parts
sessions: 2
account: {deadline: 1s}
verify: {patience: 1s, after: each-fault}
queries:
  - name: put
    command: [SET, "parts:$1", $2]
    params: [{type: Unsigned, range: [1, 40], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "parts:$1"], capture: [0]}, expect: [2]}
load: [{constant: {rate: 100, duration: 8s}}]
faults:
  - {name: slow, at: 500ms, for: 300ms, network: {do: latency, delay: 5ms}}
`)
	var both []*child
	var bundles []*record.Recorded
	for _, part := range []string{"1/2", "2/2"} {
		both = append(both, spawn(t, dir, s.with("run", plan, "--seed", "7", "--part", part, "--allow-faults", "--quiet",
			"--bundle", filepath.Join(dir, part[:1]))...))
	}
	read := uint64(0)
	for i, c := range both {
		if o := c.wait(); !judged(o.code) {
			t.Fatalf("exit %d\n%s%s", o.code, o.out, o.err)
		}
		b := recordtest.Open(t, filepath.Join(dir, fmt.Sprint(i+1)))
		bundles = append(bundles, b)
		if len(b.Run.Verified.AfterFaults) != 1 {
			t.Fatalf("part %d: %+v", i+1, b.Run.Verified)
		}
		sum := b.Run.Verified.AfterFaults[0].Sum()
		read += sum.Acknowledged
	}
	run, _, err := record.Merge(bundles...)
	if err != nil {
		t.Fatal(err)
	}
	v := run.Verified
	if len(v.AfterFaults) != 1 || v.LostMeanwhile != 0 {
		t.Fatalf("merged: %+v", v)
	}
	if sum := v.AfterFaults[0].Sum(); sum.Acknowledged != read || read == 0 || sum.Wrong() != 0 {
		t.Errorf("merged: %+v, the parts read %d", sum, read)
	}
}
