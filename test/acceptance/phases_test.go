package acceptance_test

import (
	"path/filepath"
	"testing"

	"brunt/test/shell"
)

// Arrivals of workers belong to the phase in which they fall due, and a phase lasts as long as at the worker where it
// lasted longest: what workers need between phases belongs to none.
func TestPhasesOfWorkers(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", diskPlan+`
load:
  - {name: first, closed: {operations: 200}}
  - {name: second, constant: {rate: 200, duration: 500ms}}
  - pause: 50ms
  - {name: third, constant: {rate: 400, duration: 500ms}}
  - pause: 50ms
  - {name: fourth, constant: {rate: 200, duration: 500ms}}
`)
	home := t.TempDir()
	dir := filepath.Join(home, "bundle")
	o := spawn(t, home, "run", plan, "--proto", "noop", "-a", "none", "--vu", "2", "--interval", "100ms", "--workers", "2",
		"--mixed-cores", "--bundle", dir, "--output", "json").wait()
	if !judged(o.code) {
		t.Fatalf("exit %d\n%s", o.code, o.err)
	}
	run := readRun(t, dir)
	longest := map[string]int64{}
	for _, k := range []string{"1", "2"} {
		part := readRun(t, filepath.Join(dir, "workers", k))
		for i := range part.Phases {
			p := &part.Phases[i]
			longest[p.Name] = max(longest[p.Name], p.LengthNs())
		}
	}
	for name, want := range map[string]uint64{"first": 200, "second": 100, "third": 200, "fourth": 100} {
		found := false
		for i := range run.Phases {
			p := &run.Phases[i]
			if p.Name != name {
				continue
			}
			found = true
			if p.Done+p.Unsent != want {
				t.Errorf("%s: %d done and %d not sent, want %d", name, p.Done, p.Unsent, want)
			}
			if p.LengthNs() > longest[name] {
				t.Errorf("%s lasted %d ns, and %d at the worker where it lasted longest", name, p.LengthNs(), longest[name])
			}
		}
		if !found {
			t.Errorf("no phase %s", name)
		}
	}
}
