package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
)

// A service has ended when all of its processes have, not only the shell that started them.
func TestServiceOfSeveralProcesses(t *testing.T) {
	file := files(t, `plan: plan.yml
service:
  run: '(trap "sleep 0.5; rm there; exit" TERM; touch there; while :; do sleep 0.01; done) | cat'
  ready: [{exec: test -e there}]
steps: [{connections: {warm_up: 0}}]
`, serve(t))
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Begin(p, options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "there")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it wasn't waited for: %v", err)
	}
}

// In TestServicesOfOthers another process answers the probes, or the service ends by itself. Nothing else is measured
// in its place.
func TestServicesOfOthers(t *testing.T) {
	addr := serve(t)
	for name, row := range map[string]struct{ service, want string }{
		"answers before the start": {
			fmt.Sprintf(`{run: exec sleep 1000, ready: [{url: "http://%s/"}]}`, addr),
			"answers before the service is started, so another process is there",
		},
		"ends during a run": {
			`{run: "until test -e load; do sleep 0.01; done; echo token=abc password=s3cretword; exit 7", ready: [{exec: "true"}]}`,
			"the service ended by itself: exit status 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t, "plan: plan.yml\nservice: "+row.service+"\nsteps: [{confirm: {at: 1, ramp: 0}}]\n", addr)
			dir := filepath.Join(t.TempDir(), "campaign")
			p, err := parse(file)
			if err != nil {
				t.Fatal(err)
			}
			o := options(dir)
			o.Drive = func(ctx context.Context, r Run) (*program.Outcome, error) {
				if err := os.WriteFile(filepath.Join(filepath.Dir(file), "load"), nil, 0o644); err != nil {
					return nil, err
				}
				return execute(ctx, r)
			}
			c, err := Begin(p, o)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(c.Run(context.Background()), c.Close())
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, wanted %q", err, row.want)
			}
			if _, err := Report(dir, readPlan, units.English, "", ""); err != nil {
				t.Fatal(err)
			}
			document, err := os.ReadFile(filepath.Join(dir, "report-en.md"))
			if err != nil || !strings.Contains(string(document), row.want) {
				t.Errorf("the document doesn't say %q: %v", row.want, err)
			}
			if log, _ := os.ReadFile(filepath.Join(dir, "service.log")); strings.Contains(string(log), "s3cretword") {
				t.Errorf("the log has a secret: %s", log)
			}
			for _, run := range glob(t, filepath.Join(dir, "*", "*", record.RunFile)) {
				if !strings.Contains(run, ".without-service-") {
					t.Errorf("%s counts as a run of the step", run)
				}
			}
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Secrets in settings reach the service, but are stored only in the campaign's own file, which only its owner can read.
func TestSettingsThatAreSecrets(t *testing.T) {
	addr := serve(t)
	file := files(t, `plan: plan.yml
settings: {DB_PASSWORD: s3cretword, POOL: 3}
service: {run: "echo with $DB_PASSWORD and token: $API_TOKEN; echo $DB_PASSWORD > given; exec sleep 1000",
	ready: [{exec: "test -s given"}]}
steps:
  - matrix: {cells: [{API_TOKEN: t0kenOne, POOL: 1}, {API_TOKEN: t0kenTwo, POOL: 2}], at: 1, repetitions: 2,
	warm_up: 0, duration: 1s}
  - prepare: {commands: ["echo $DB_PASSWORD"]}
  - document: {}
`, addr)
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "campaign")
	c, err := Begin(p, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if given, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "given")); string(given) != "s3cretword\n" {
		t.Errorf("the service was given %q", given)
	}
	if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", FileName, info.Mode(), err)
	}
	seen := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == FileName {
			return err
		}
		text := []byte(path)
		if !d.IsDir() {
			seen++
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		for _, s := range []string{"s3cretword", "t0kenOne", "t0kenTwo"} {
			if bytes.Contains(text, []byte(s)) || strings.Contains(path, s) {
				t.Errorf("%s has %s", path, s)
			}
		}
		return nil
	})
	if err != nil || seen < 8 {
		t.Errorf("%d files looked at: %v", seen, err)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "service.log"))
	if !strings.Contains(string(log), "with *** and token: ***") {
		t.Errorf("the log: %s", log)
	}
}

// The last output of a command or a probe is in the error and in the journal, without the values of secret settings.
func TestFailuresHideSettings(t *testing.T) {
	const says = `"echo got $DB_PASSWORD; exit 3"`
	for name, row := range map[string]struct{ ready, step string }{
		"a command": {`"true"`, "prepare: {commands: [" + says + "]}"},
		"a probe":   {says, "confirm: {at: 1}"},
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t,
				"plan: plan.yml\nsettings: {DB_PASSWORD: s3cretword}\nservice: {run: exec sleep 1000, within: 1s, "+
					"ready: [{exec: "+row.ready+"}]}\nsteps: [{"+row.step+"}]\n", serve(t))
			p, err := parse(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "campaign")
			c, err := Begin(p, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(c.Run(context.Background()), c.Close())
			if err == nil || !strings.Contains(err.Error(), "got ***") || strings.Contains(err.Error(), "s3cretword") {
				t.Errorf("%v", err)
			}
			journal, _ := os.ReadFile(filepath.Join(dir, program.JournalName))
			if strings.Contains(string(journal), "s3cretword") {
				t.Errorf("the journal: %s", journal)
			}
		})
	}
}
