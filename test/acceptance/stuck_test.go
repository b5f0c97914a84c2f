package acceptance_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// readAndUpdate has one kind of operation that a lock does not affect, and one that it blocks.
const readAndUpdate = `
config_name: STUCK
tables_schema:
  - name: stuck
    row_count: 1000
    columns:
      - {name: id, type: Integer, range: [1, 1000], unique: true}
      - {name: n, type: Integer, range: [1, 9]}
    primary_keys: [id]
queries:
  - {name: read, sql: select n from stuck where id = $1, params: [{type: Integer, range: [1, 1000]}], weight: 4}
  - {name: update, sql: update stuck set n = n+1 where id = $1, params: [{type: Integer, range: [1, 1000]}], weight: 1}
sessions: 80
load:
  - constant: {rate: 100, duration: 8s}
`

// If updates wait for a lock while reads succeed, the report shows time lost and names the operation. Without the lock,
// no time lost is reported.
func TestTimeLostByOneOperation(t *testing.T) {
	t.Parallel()
	const locked = 3 * time.Second
	server := testserver.Postgres(t)
	s := of("pg", server)
	plan := shell.File(t, "plan.yml", readAndUpdate)
	if up := brunt(t, s.with("schema", "up", "--quiet", "-c", plan)...); up.code != 0 {
		t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
	}
	for _, tier := range []string{"codec", "library"} {
		for _, lock := range []bool{true, false} {
			name := tier + ", nothing is locked"
			if lock {
				name = tier + ", locked"
			}
			t.Run(name, func(t *testing.T) {
				inTime(t, func() bool {
					dir := filepath.Join(t.TempDir(), "bundle")
					ended := make(chan outcome)
					go func() {
						ended <- brunt(t, s.with("run", plan, "--tier", tier, "--interval", "250ms", "--bundle", dir)...)
					}()
					shell.UntilIntervals(t, dir, 8)
					began := time.Now()
					if lock {
						if err := s.exec("do $$ begin lock table stuck in exclusive mode; perform pg_sleep(3); end $$"); err != nil {
							t.Fatal(err)
						}
					}
					waited := time.Since(began)
					o := <-ended
					run := readRun(t, dir)
					late := run.Total.Overdue > 0
					if !judged(o.code) && !late || run.Total.Failed != 0 {
						t.Fatalf("exit %d, %d failed\n%s", o.code, run.Total.Failed, o.err)
					}
					all := recordtest.Intervals(t, dir)
					// If the generator had no core, it has gaps of its own.
					starved := run.Verdict.Result == verdict.Invalid && run.Operations[0].Standstill.Count+run.Standstill.Count > 0
					if busy := late || run.Total.Dropped > 0 || run.Health.PausedNs > 0 || starved; busy ||
						lock && began.Add(waited).Sub(time.Unix(0, all[0].UnixNs)) > 7*time.Second {
						return false
					}
					read, update := &run.Operations[0].Standstill, &run.Operations[1].Standstill
					if !lock {
						if read.Count+update.Count > 0 || strings.Contains(o.out, "time lost") {
							t.Errorf("reads %+v, updates %+v\n%s", read, update, o.out)
						}
						return true
					}
					// The first update that waits comes within its distance from the one before, 50 ms on average.
					if lost := time.Duration(update.TotalNs); update.Count != 1 || lost > waited || lost < locked-time.Second {
						t.Errorf("updates lost %v in %d, the lock was held for %v", lost, update.Count, waited)
					}
					if read.Count != 0 || run.Standstill.Count != 0 {
						t.Errorf("reads %+v, all %+v", read, run.Standstill)
					}
					if !strings.Contains(o.out, "no update succeeded: 1 time, the longest ") {
						t.Errorf("the report doesn't say it:\n%s", o.out)
					}
					return true
				})
			})
		}
	}
}
