package acceptance_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// If the server dies while tables are filled, the command fails with one line. The same command continues when the
// server is back, and proves every row.
func TestServerKilledWhileLoading(t *testing.T) {
	t.Parallel()
	const rows = 200_000
	plan := shell.File(t, "plan.yml", fmt.Sprintf(`
config_name: BIG
tables_schema:
  - name: big
    row_count: %[1]d
    columns:
      - {name: id, type: Integer, range: [1, %[1]d], unique: true}
      - {name: text, type: String, range: [40, 60]}
    primary_keys: [id]
`, rows))
	server := testserver.Postgres(t, testserver.Settings("synchronous_commit = on", "fsync = on", "full_page_writes = on"))
	s := of("pg", server)
	checkpoint := filepath.Join(t.TempDir(), "big.load")
	up := s.with("schema", "up", "-c", plan, "--checkpoint", checkpoint, "--workers", "1", "--check", "full", "--quiet")
	first := make(chan outcome)
	go func() { first <- brunt(t, up...) }()
	shell.Until(t, "a chunk is in place", func() bool {
		b, _ := os.ReadFile(checkpoint)
		return bytes.Contains(b, []byte(`"done":true`))
	})
	server.Kill()
	o := <-first
	if o.code != 1 && o.code != 108 {
		t.Fatalf("exit %d after the server was killed\n%s%s", o.code, o.out, o.err)
	}
	oneLine(t, o.err)
	server.Restart()
	again := brunt(t, up...)
	if again.code != 0 {
		t.Fatalf("exit %d\n%s%s", again.code, again.out, again.err)
	}
	for _, text := range []string{"resumed", fmt.Sprint(rows, " rows"), "by an earlier run", "checked by full"} {
		if !strings.Contains(again.out, text) {
			t.Errorf("it doesn't say %q:\n%s", text, again.out)
		}
	}
	if got := s.rows(t, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM big")[0]; got != fmt.Sprintf(
		"%d | %[1]d | 1 | %[1]d", rows) {
		t.Errorf("the table holds %s", got)
	}
	if _, err := os.Stat(checkpoint); !os.IsNotExist(err) {
		t.Errorf("the checkpoint is still there: %v", err)
	}
	third := brunt(t, up...)
	if third.code != 0 || !strings.Contains(third.out, "complete") {
		t.Errorf("once more: exit %d\n%s", third.code, third.out)
	}
}

// If the server dies during the load, the failed requests are counted, the run continues, and its sessions reconnect.
func TestServerKilledWhileRunning(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: one, sql: select 1, weight: 1}]\n")
	for _, c := range []struct {
		name, proto string
		start       func(testserver.TB, ...testserver.Option) *testserver.Server
	}{{"PostgreSQL", "pg", testserver.Postgres}, {"Tarantool", "iproto", testserver.Tarantool}} {
		for _, tier := range []string{"codec", "library"} {
			t.Run(c.name+" "+tier, func(t *testing.T) {
				t.Parallel()
				server := c.start(t)
				s := of(c.proto, server)
				inTime(t, func() bool { return killedWhileRunning(t, s, server, plan, tier) })
			})
		}
	}
}

// killedWhileRunning kills a server under load and restarts it. It returns false if that took too long to see the
// sessions return.
func killedWhileRunning(t *testing.T, s stand, server *testserver.Server, plan, tier string) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	ended := make(chan outcome)
	go func() {
		ended <- brunt(t, s.with("rate", "-c", plan, "--rate", "100", "--duration", "10s", "--vu", "4", "--tier", tier,
			"--timeout", "1s", "--interval", "250ms", "--quiet", "--bundle", dir)...)
	}()
	shell.UntilIntervals(t, dir, 4)
	server.Kill()
	time.Sleep(time.Second)
	server.Restart()
	back := time.Now()
	o := <-ended
	run := readRun(t, dir)
	sent := 1000 - run.Total.Dropped // a busy machine may be too late to send the last ones
	if !run.Complete || run.Total.Done != sent || o.code != 99 && o.code != 98 {
		t.Fatalf("exit %d, complete %v, %d done\n%s", o.code, run.Complete, run.Total.Done, o.err)
	}
	if run.Total.Failed == 0 || run.Total.OK+run.Total.Failed != sent || sum(run.Total.Errors) != run.Total.Failed {
		t.Errorf("%d succeeded, %d failed: %v", run.Total.OK, run.Total.Failed, run.Total.Errors)
	}
	if !checkReturn(t, dir, 0, 4, back) {
		return false
	}
	if run.Targets[0].Reconnects < 4 {
		t.Errorf("%d reconnects, want at least 4", run.Targets[0].Reconnects)
	}
	return true
}

func sum(counts measure.ByClass) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// checkReturn fails unless an address had fewer sessions up at some time, and all of them at the
// end, when its requests succeed again. It is false if the server came back too late to see that.
func checkReturn(t *testing.T, dir string, address, sessions int, back time.Time) bool {
	t.Helper()
	all := recordtest.Intervals(t, dir)
	least := sessions
	for _, iv := range all {
		least = min(least, iv.Addresses[address].Up)
	}
	last := all[len(all)-1]
	if least == sessions {
		t.Errorf("address %d had all its sessions all the time", address)
	}
	if time.Unix(0, last.UnixNs).Before(back.Add(time.Second)) {
		return false
	}
	if got := last.Addresses[address].Up; got != sessions {
		t.Errorf("address %d has %d sessions at the end, want %d", address, got, sessions)
	}
	served := uint64(0)
	for _, iv := range all[max(0, len(all)-4):] {
		served += iv.Addresses[address].Counts.OK()
	}
	if served == 0 {
		t.Errorf("address %d serves nothing at the end", address)
	}
	return true
}

// If one of two servers dies and returns, the other one continues to serve, figures are kept by address, and the
// sessions reconnect.
func TestOneOfTwoServersKilled(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: one, sql: select 1, weight: 1}]\n")
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			steady, mortal := testserver.Postgres(t), testserver.Postgres(t)
			inTime(t, func() bool { return oneOfTwoKilled(t, steady, mortal, plan, tier) })
		})
	}
}

// oneOfTwoKilled kills one of two servers under load and restarts it. It returns false if that took too long to see its
// sessions return, or if this machine couldn't send everything within the load.
func oneOfTwoKilled(t *testing.T, steady, mortal *testserver.Server, plan, tier string) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	ended := make(chan outcome)
	go func() {
		ended <- brunt(t, "rate", "-c", plan, "--proto", "pg", "-a", steady.Addr+","+mortal.Addr, "-u", steady.User,
			"--database", "postgres",
			"--rate", "200", "--duration", "10s", "--vu", "8", "--tier", tier, "--timeout", "8s", "--interval", "250ms",
			"--quiet", "--bundle", dir)
	}()
	shell.UntilIntervals(t, dir, 4)
	mortal.Kill()
	time.Sleep(time.Second)
	mortal.Restart()
	back := time.Now()
	o := <-ended
	run := readRun(t, dir)
	if !run.Complete || o.code != 99 && o.code != 98 || len(run.Targets) != 2 || run.Total.Done+run.Total.Dropped != 2000 {
		t.Fatalf("exit %d, complete %v, %d targets, %d done\n%s", o.code, run.Complete, len(run.Targets),
			run.Total.Done, o.err)
	}
	if !checkReturn(t, dir, 1, 4, back) || run.Total.Dropped > 0 {
		return false
	}
	a, b := run.Targets[0], run.Targets[1]
	if a.Address != steady.Addr || a.Counts.Failed != 0 || a.Reconnects != 0 || a.Counts.OK < 500 {
		t.Errorf("the steady server: %+v, %d reconnects", a.Counts, a.Reconnects)
	}
	if b.Address != mortal.Addr || b.Counts.Failed == 0 || b.Reconnects < 4 || b.Counts.OK == 0 {
		t.Errorf("the mortal server: %+v, %d reconnects", b.Counts, b.Reconnects)
	}
	if a.Counts.OK+b.Counts.OK != run.Total.OK {
		t.Errorf("addresses succeeded %d + %d times, operations %d times", a.Counts.OK, b.Counts.OK, run.Total.OK)
	}
	if !strings.Contains(o.out, steady.Addr) || !strings.Contains(o.out, mortal.Addr) {
		t.Errorf("the report doesn't name both addresses:\n%s", o.out)
	}
	return true
}
