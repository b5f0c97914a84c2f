package acceptance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// With four runs on each side, brunt detects that a server has become 50 % slower, and reports no change for a server
// that stays the same. The servers are PostgreSQL, and the metric is the median of answers that take 2 or 3 s of sleep,
// compared with which the noise of a busy machine is small.
func TestSeededRegressionIsCaught(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.yml")
	text := `config_name: seeded
queries: [{name: work, sql: select seeded_work()}]
load: [{closed: {sessions: 12, operations: 24}}]
`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	side := func(name string, sleepS int) (bundles []string) {
		server := postgres(t)
		if err := server.exec(fmt.Sprintf("CREATE FUNCTION seeded_work() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(%d)'",
			sleepS)); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			bundle := filepath.Join(dir, fmt.Sprint(name, i))
			running.Go(func() {
				if o := brunt(t, server.with("run", plan, "--quiet", "--interval", "100ms", "--bundle", bundle)...); !judged(
					o.code) {
					t.Errorf("exit %d\n%s%s", o.code, o.out, o.err)
				}
			})
			bundles = append(bundles, bundle)
		}
		return bundles
	}
	before, again, after := side("before", 2), side("again", 2), side("after", 3)
	running.Wait()
	compared := func(base, candidate []string) (code int, median string) {
		// The load of this machine is not what this test is about.
		args := append([]string{"compare", "--anyway", "--tolerance", "15%", "--output", "json"}, base...)
		o := brunt(t, append(append(args, "--"), candidate...)...)
		var c struct {
			Metrics []struct{ Metric, Verdict string }
		}
		if err := json.Unmarshal([]byte(o.out), &c); err != nil {
			t.Fatalf("%v\n%s", err, o.out)
		}
		for _, m := range c.Metrics {
			if m.Metric == "response.p(50)" {
				median = m.Verdict
			}
		}
		return o.code, median
	}
	if code, median := compared(before, after); code != 97 || median != "regression" {
		t.Errorf("half as slow again: exit %d, median %s", code, median)
	}
	if _, median := compared(before, again); median != "equivalent" {
		t.Errorf("the same: median %s", median)
	}
	if _, median := compared(after, before); median != "improvement" {
		t.Errorf("a third faster: median %s", median)
	}
	if o := brunt(t, "compare", "--anyway", before[0], after[0]); o.code != 0 ||
		!strings.Contains(o.out, "between-run variance unknown") {
		t.Errorf("one against one: exit %d\n%s", o.code, o.out)
	}
	o := brunt(t, append([]string{"intervals", "--anyway", "-p", "95"}, before...)...)
	if o.code != 0 || !strings.Contains(o.out, "4 runs of seeded") ||
		!strings.Contains(o.out, "at least 6 runs, there are 4") {
		t.Errorf("exit %d\n%s", o.code, o.out)
	}
}
