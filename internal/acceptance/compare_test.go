package acceptance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A server that becomes half as slow again is caught, and one that stays the same isn't, from four runs
// each: on PostgreSQL, by the median of answers that take 2 or 3 s of sleep, beside which what a busy machine
// adds is little.
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
		if err := server.exec(fmt.Sprintf("CREATE FUNCTION seeded_work() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(%d)'", sleepS)); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			bundle := filepath.Join(dir, fmt.Sprint(name, i))
			running.Go(func() {
				if o := brunt(t, server.with("run", plan, "--quiet", "--interval", "100ms", "--bundle", bundle)...); !judged(o.code) {
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
		// How busy this machine is isn't what is tested.
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
	if o := brunt(t, "compare", "--anyway", before[0], after[0]); o.code != 0 || !strings.Contains(o.out, "between-run variance unknown") {
		t.Errorf("one against one: exit %d\n%s", o.code, o.out)
	}
	o := brunt(t, append([]string{"intervals", "--anyway", "-p", "95"}, before...)...)
	if o.code != 0 || !strings.Contains(o.out, "4 runs of seeded") || !strings.Contains(o.out, "at least 6 runs, there are 4") {
		t.Errorf("exit %d\n%s", o.code, o.out)
	}
}

// The ready workflow is YAML, and its gate works as it says: here on measured results, without the
// servers of GitHub.
func TestWorkflowGate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/ci/github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, s := range workflow.Jobs["compare"].Steps {
		if s.Name == "Compare" {
			script = s.Run
		}
	}
	for candidate, want := range map[string]int{"after": 97, "again": 0} {
		dir := workFolder(t)
		results := filepath.Join(dir, "results")
		if err := os.Mkdir(results, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := 1; i <= 6; i++ {
			for from, to := range map[string]string{"before": "before", candidate: "after"} {
				file := fmt.Sprintf("%s-%d.json", from, i)
				data, err := os.ReadFile(filepath.Join("../../examples/ci/results", file))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(results, fmt.Sprintf("%s-%d", to, i)), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		// GitHub runs scripts so.
		shell := exec.Command("bash", "-e", "-c", script)
		shell.Dir = dir
		shell.Env = append(os.Environ(), "PATH="+filepath.Join(dir, ".bin")+":"+os.Getenv("PATH"), roleVariable+"=brunt",
			"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
		out, _ := shell.CombinedOutput()
		if code := shell.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: exit %d, want %d\n%s", candidate, code, want, out)
		}
		summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		if err != nil || !strings.Contains(string(summary), "| response mean |") {
			t.Errorf("%s: %v\n%s", candidate, err, summary)
		}
		report, err := os.ReadFile(filepath.Join(dir, "compare.xml"))
		if err != nil || !strings.Contains(string(report), "<testsuite name=") {
			t.Errorf("%s: %v\n%s", candidate, err, report)
		}
	}
}
