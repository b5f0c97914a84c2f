package kubernetes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// Each run of a series has pods of its own, and leaves no objects behind.
func TestSeriesOfPods(t *testing.T) {
	const namespace = "series"
	s := onStage(t, namespace, restricted)
	s.role(t, namespace)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"plan.yml": "target: {protocol: noop, addresses: [none]}\nsessions: 4\ninterval: 200ms\n" +
			"queries: [{name: one, command: [PING], weight: 1}]\nload: [{constant: {rate: 100, duration: 1s}}]\n",
		"two.yml": "campaign: two\nplan: plan.yml\nservice: {reconfigure: 'true'}\nsteps:\n" +
			"  - matrix: {grid: {A: [1, 2]}, at: 1, warm_up: 0, duration: 1s, repetitions: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := filepath.Join(folder, "plan.yml")
	for name, args := range map[string][]string{
		"search": {"search", plan, "--trial", "1s", "--warm-up", "200ms", "--pause", "0s", "--max", "1", "--trials", "2",
			"--anyway"},
		"repeat": {"repeat", "2", plan, "--cool-down", "0s"},
		"matrix": {"matrix", plan, "--set", "A=1,2", "--reconfigure", "true", "--warm-up", "0s", "--duration", "1s",
			"--repetitions", "1", "--anyway"},
		"campaign": {"campaign", "run", filepath.Join(folder, "two.yml"), "--anyway"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := s.flags(testserver.KubernetesUser, namespace)
			flags[1] = "2"
			c := s.start(t, append(args, flags...)...)
			c.judged()
			s.empty(t, namespace)
			runs := 0
			err := filepath.WalkDir(c.dir, func(path string, _ os.DirEntry, err error) error {
				if err != nil || filepath.Base(path) != record.RunFile || strings.Contains(path, record.WorkersFolder) {
					return err
				}
				runs++
				b, err := record.Open(record.OS{}, filepath.Dir(path))
				if err == nil && (!b.Run.Complete || len(b.Run.Parts) != 2 || b.Run.Total.Done == 0) {
					t.Errorf("%s: %d operations of %d workers", path, b.Run.Total.Done, len(b.Run.Parts))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if runs < 2 {
				t.Errorf("%d runs", runs)
			}
		})
	}
}

// Pods fill the tables that one process would. If they can't run, the tables aren't created.
func TestPodsFillTables(t *testing.T) {
	const namespace = "filled"
	s := onStage(t, namespace, restricted)
	pg, _ := logged(t, "1s")
	schema := func(what string, more ...string) *child {
		return s.command(t, slices.Concat([]string{"schema", what, "-c", "examples/cars.yml", "--proto", "pg", "-a", pg.Addr,
			"-u", pg.User, "--database", pg.Database, "--checkpoint", filepath.Join(t.TempDir(), "load")}, more)...)
	}
	pods := s.flags(testserver.KubernetesUser, namespace)
	pods[0] = "--processes"
	refused := schema("up", pods...)
	if code := refused.wait(); code != exitcode.Unreachable {
		t.Errorf("exit code %d, want %d", code, exitcode.Unreachable)
	}
	if out := refused.output(); !strings.Contains(out, "create jobs.batch") || strings.Count(out, "\n") != 1 {
		t.Errorf("want one line that names the missing rights, got\n%s", out)
	}
	if n := pg.Psql(t, "SELECT count(*) FROM pg_tables WHERE tablename = 'cars'"); n != "0" {
		t.Error("the table was created")
	}
	s.role(t, namespace)
	sum := regexp.MustCompile(`20000 rows.*(checksum [0-9a-f]+)`)
	var sums []string
	for _, more := range [][]string{nil, pods} {
		c := schema("up", append(more, "--check", "full", "--quiet")...)
		if code := c.wait(); code != exitcode.Pass {
			t.Fatalf("exit code %d", code)
		}
		sums = append(sums, sum.FindStringSubmatch(c.output() + "\n20000 rows, checksum 0")[1])
		if code := schema("down").wait(); code != exitcode.Pass {
			t.Fatalf("exit code %d", code)
		}
	}
	if sums[0] == "checksum 0" || sums[0] != sums[1] {
		t.Errorf("%s by one process, %s by pods", sums[0], sums[1])
	}
	s.empty(t, namespace)
}
