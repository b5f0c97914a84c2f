package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/dialect/picostress/summary"
	"brunt/test/shell"
)

// carsPlan is the configuration file of the article on Picostress, as it was published.
const carsPlan = "../../internal/plan/planfile/testdata/cars.yml"

// The article's two commands work with its own flags and its unchanged file.
func TestArticle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proto string
		stand func(*testing.T) stand
		say   string // of what the server can't take
	}{
		{"iproto", tarantool, "Tarantool has no"},
		{"pgwire", articlesPostgres, "PostgreSQL has no"},
	} {
		t.Run(c.proto, func(t *testing.T) {
			s := c.stand(t)
			results := t.TempDir()
			common := []string{"-c=" + carsPlan, "-u=" + articleUser, "-p=" + secret, "--proto=" + c.proto, "-a=" + s.addr}
			up := brunt(t, append(append([]string{"schema", "up"}, common...), "--checkpoint",
				filepath.Join(results, "cars.load"))...)
			if up.code != 0 || !strings.Contains(up.out, "cars_q") || !strings.Contains(up.out, "100 rows") {
				t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
			}
			if !strings.Contains(up.err, c.say) {
				t.Errorf("no notice of what the server can't take:\n%s", up.err)
			}
			if n := s.rows(t, `SELECT count(*) FROM "cars_q"`); n[0] != "100" {
				t.Errorf("the table holds %s rows", n[0])
			}
			queue := brunt(t, append(append([]string{"queue"}, common...), "--vu=2", "--results", results, "--summary-dir",
				results)...)
			if !judged(queue.code) {
				t.Fatalf("queue: exit %d\n%s%s", queue.code, queue.out, queue.err)
			}
			if queue.code == 0 && !strings.Contains(queue.out, "PASS") || queue.code == 98 &&
				!strings.Contains(queue.out, "INVALID") {
				t.Errorf("exit %d without the verdict:\n%s", queue.code, queue.out)
			}
			for _, text := range []string{"100 operations", "closed", "p99", "select cars_q"} {
				if !strings.Contains(queue.out, text) {
					t.Errorf("the report doesn't say %q:\n%s", text, queue.out)
				}
			}
			bundles, _ := filepath.Glob(filepath.Join(results, "QUEUE-*"))
			if len(bundles) != 1 {
				t.Fatalf("bundles: %q", bundles)
			}
			run := readRun(t, bundles[0])
			if run.Total.Done != 100 || run.Total.Failed != 0 || run.Sessions != 2 || run.LoadModel != "closed" {
				t.Errorf("done %d, failed %d, %d sessions, %s", run.Total.Done, run.Total.Failed, run.Sessions, run.LoadModel)
			}
			summary, err := os.ReadFile(filepath.Join(results, summary.File(run.Seed)))
			if err != nil || !strings.Contains(string(summary), `"configName"`) {
				t.Errorf("summary: %v\n%s", err, summary)
			}
			down := brunt(t, append([]string{"schema", "down"}, common...)...)
			if down.code != 0 || !strings.Contains(down.out, "dropped") {
				t.Errorf("schema down: exit %d\n%s", down.code, down.out)
			}
			noSecret(t, results, up, queue, down)
		})
	}
}

// noSecret fails the test if the password is in any output or file.
func noSecret(t *testing.T, folder string, outcomes ...outcome) {
	t.Helper()
	for _, o := range outcomes {
		if strings.Contains(o.out+o.err, secret) {
			t.Errorf("the password was printed:\n%s%s", o.out, o.err)
		}
	}
	files := 0
	filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if b, _ := os.ReadFile(path); strings.Contains(string(b), secret) {
			t.Errorf("the password stands in %s", path)
		}
		return nil
	})
	if files == 0 {
		t.Errorf("%s holds no files", folder)
	}
}

// The password may come from the environment, a file or a prompt, and is not stored anywhere.
func TestPasswordIsKeptNowhere(t *testing.T) {
	s := postgres(t)
	passwords := shell.File(t, "password", secret+"\n")
	plan := shell.File(t, "plan.yml", "queries: [{sql: select 1, count: 10}]\n")
	common := []string{"queue", "-c", plan, "--proto", "pg", "-a", s.addr, "-u", s.user, "--database", s.database}
	for _, c := range []struct {
		name  string
		flags []string
		env   string
		stdin string
	}{
		{"-p value", []string{"-p", secret}, "", ""},
		{"-pvalue", []string{"-p" + secret}, "", ""},
		{"--password=value", []string{"--password=" + secret}, "", ""},
		{"--password value", []string{"--password", secret}, "", ""},
		{"file", []string{"--password-file", passwords}, "", ""},
		{"prompt", []string{"--ask-password"}, "", secret + "\n"},
		{"environment", nil, secret, ""},
	} {
		for _, tier := range []string{"codec", "library"} {
			t.Run(c.name+" "+tier, func(t *testing.T) {
				t.Setenv("BRUNT_PASSWORD", c.env)
				results := t.TempDir()
				args := append(append([]string{}, common...), c.flags...)
				o := bruntWith(t, strings.NewReader(c.stdin), append(args, "--results", results, "--tier", tier)...)
				if !judged(o.code) {
					t.Errorf("exit %d\n%s%s", o.code, o.out, o.err)
				}
				noSecret(t, results, o)
			})
		}
	}
	t.Run("wrong", func(t *testing.T) {
		o := brunt(t, append(common, "-p", secret+"x", "--results", t.TempDir())...)
		if o.code != 108 {
			t.Errorf("exit %d, want 108", o.code)
		}
		oneLine(t, o.err, s.addr, "password")
		if strings.Contains(o.err, secret) {
			t.Error("the wrong password was printed")
		}
	})
}
