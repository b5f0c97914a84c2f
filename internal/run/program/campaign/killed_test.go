package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

// Each step ends with a command that waits at a gate, a named pipe, so that the test sees every step.
const whole = `campaign: pages
plan: plan.yml
settings: {THREADS: 5}
service:
  run: sleep 1000
  ready: [{exec: "true"}]
steps:
  - prepare: {commands: ["echo $THREADS > threads"]}
    after: [cat prepare]
  - search: {max: 2, trials: 4}
    after: [cat search]
  - confirm: {ramp: 0}
    after: [cat confirm]
  - fix: {commands: ["echo x >> fixed"]}
    after: [cat fix]
  - repeat: [search]
    after: [cat repeat]
  - reliability: {}
    after: [cat reliability]
  - connections: {}
    after: [cat connections]
  - matrix: {cells: [{THREADS: 5}, {THREADS: 6}], at: 1, repetitions: 1}
    after: [cat matrix]
  - document: {lang: [en, ru]}
    after: [cat document]
`

// TestKilledInEachStep kills a campaign in each of its steps with SIGKILL, and resumes it.
func TestKilledInEachStep(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	file := files(t, whole, serve(t))
	dir := filepath.Join(t.TempDir(), "campaign")
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		gate := filepath.Join(filepath.Dir(file), s.Kind)
		if s.Kind == campaignfile.StepSearch && s.Round > 0 {
			gate = filepath.Join(filepath.Dir(file), campaignfile.StepRepeat)
		}
		if out, err := exec.Command("mkfifo", gate).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v: %s", err, out)
		}
		killWhen(t, file, dir, func() bool {
			// Either a load has begun, or the command waits at the gate.
			runs, _ := filepath.Glob(filepath.Join(dir, s.ID(), "*", record.RunFile))
			log, _ := os.ReadFile(filepath.Join(dir, s.ID(), "commands.log"))
			return len(runs) > 0 || strings.Contains(string(log), ": cat ")
		})
		if err := errors.Join(os.Remove(gate), os.WriteFile(gate, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Resume(dir, readPlan, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	c.least = 300 * time.Millisecond
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, e := range c.journal.Entries() {
		if e.State == "done" {
			times[e.Step]++
		}
	}
	for i := range p.Steps {
		if id := p.Steps[i].ID(); times[id] != 1 {
			t.Errorf("step %s was done %d times", id, times[id])
		}
	}
	for _, left := range c.journal.Processes() {
		if left.Began != "" && beganAt(left.PID) == left.Began {
			t.Errorf("process %d is still there", left.PID)
		}
	}
	if len(c.results) != len(p.Steps) || c.results[1].Search == nil || c.results[1].Search.Bracket.Lower == 0 {
		t.Fatalf("results: %+v", c.results)
	}
	for _, name := range []string{"report-en.html", "report-en.md", "report-ru.html", "report-ru.md"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) < 2000 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
	for i := range c.results {
		for _, bundle := range bundlesOf(&c.results[i]) {
			path := filepath.Join(dir, c.results[i].ID, bundle)
			if o, err := program.ReadOutcome(record.OS{}, path); err != nil || o.Run.Interrupted {
				t.Errorf("step %s: bundle %s: %v", c.results[i].ID, bundle, err)
			}
		}
	}
}

// bundlesOf returns the bundles that a result names.
func bundlesOf(r *Result) (all []string) {
	if r.Trial != nil {
		all = append(all, r.Trial.Dir)
	}
	if r.Search != nil {
		for i := range r.Search.Trials {
			all = append(all, r.Search.Trials[i].Dir)
		}
	}
	if r.Matrix != nil {
		for i := range r.Matrix.Cells {
			all = append(all, r.Matrix.Cells[i].Dirs...)
		}
	}
	return all
}

// killWhen begins or resumes the campaign in a process of its own, and kills the process as soon as soFar returns true.
func killWhen(t *testing.T, file, dir string, soFar func() bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+file, childDir+"="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !soFar() {
		select {
		case err := <-ended:
			t.Fatalf("the campaign ended too early: %v\n%s", err, out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
}

// TestKilledBeforeTheJournalKnows kills a campaign between the start of a process and its line in the journal. The
// process ends by itself and has no effect.
func TestKilledBeforeTheJournalKnows(t *testing.T) {
	for name, text := range map[string]string{
		"command": "plan: plan.yml\nsteps: [{prepare: {commands: ['touch begun; exec sleep 1000']}}]\n",
		"program": "plan: plan.yml\nsteps: [{prepare: {commands: [[touch, begun]]}}]\n",
		"service": "plan: plan.yml\nservice: {run: 'touch begun; exec sleep 1000'}\nsteps: [{search: {}}]\n",
		"probe":   "plan: plan.yml\nservice: {ready: [{exec: 'touch begun; exec sleep 1000'}]}\nsteps: [{search: {}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t, text, "127.0.0.1:1")
			started := filepath.Join(t.TempDir(), "started")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childFile+"="+file, childDir+"="+filepath.Join(t.TempDir(), "campaign"),
				childProcess+"="+started)
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(started)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			begun := func() bool {
				_, err := os.Stat(filepath.Join(filepath.Dir(file), "begun"))
				return err == nil
			}
			for beganAt(pid) != "" && !begun() {
				time.Sleep(5 * time.Millisecond)
			}
			if begun() {
				end(pid, true)
				t.Error("it went on")
			}
		})
	}
}

// TestKilledBetweenActions kills a campaign between commands, and between statements of a file. Completed actions are
// not repeated.
func TestKilledBetweenActions(t *testing.T) {
	pg := testserver.Postgres(t)
	file := files(t, fmt.Sprintf(`plan: plan.yml
inspect: pg=postgres://brunt@%s/postgres
steps:
  - prepare:
      commands: ["echo one >> did", "echo two >> did; test -e again || { touch again; sleep 1000; }"]
      sql: [once.sql]
`, pg.Addr), "127.0.0.1:1")
	folder := filepath.Dir(file)
	sql := "create table once (n int); insert into once values (1); select pg_advisory_lock(4711); insert into once values (2)"
	if err := os.WriteFile(filepath.Join(folder, "once.sql"), []byte(sql), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	client, err := pgx.Connect(ctx, fmt.Sprintf("postgres://brunt@%s/postgres", pg.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(ctx)
	if _, err := client.Exec(ctx, "select pg_advisory_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "campaign")
	killWhen(t, file, dir, func() bool {
		_, err := os.Stat(filepath.Join(folder, "again"))
		return err == nil
	})
	killWhen(t, file, dir, func() bool {
		var n int
		err := client.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and not granted").Scan(&n)
		return err == nil && n > 0
	})
	if _, err := client.Exec(ctx, "select pg_advisory_unlock(4711)"); err != nil {
		t.Fatal(err)
	}
	c, err := Resume(dir, readPlan, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Run(ctx), c.Close()); err != nil {
		t.Fatal(err)
	}
	if did, err := os.ReadFile(filepath.Join(folder, "did")); err != nil || string(did) != "one\ntwo\ntwo\n" {
		t.Errorf("the commands did %q: %v", did, err)
	}
	var rows string
	if err := client.QueryRow(ctx, "select string_agg(n::text, ' ' order by n) from once").Scan(&rows); err != nil ||
		rows != "1 2" {
		t.Errorf("the statements did %q: %v", rows, err)
	}
}

// TestChangedFilesAreNotResumed changes the files that a campaign was begun with.
func TestChangedFilesAreNotResumed(t *testing.T) {
	for _, name := range []string{"plan.yml", "fix.sql", FileName} {
		t.Run(name, func(t *testing.T) {
			text := "plan: plan.yml\ninspect: pg=postgres://x@127.0.0.1:1/x\n" +
				"steps:\n  - confirm: {at: 1}\n  - fix: {sql: [fix.sql]}\n  - prepare: {commands: [exit 1]}\n"
			file := files(t, text, "127.0.0.1:1")
			folder := filepath.Dir(file)
			if err := os.WriteFile(filepath.Join(folder, "fix.sql"), []byte("select 1"), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := parse(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "campaign")
			c, err := Begin(p, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := Resume(dir, readPlan, options(dir))
			if err != nil {
				t.Fatalf("unchanged: %v", err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, name)
			if name == FileName {
				path = filepath.Join(dir, name)
			}
			was, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append(was, "\n# edited\n"...), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = Resume(dir, readPlan, options(dir))
			if err == nil || !strings.Contains(err.Error(), name+" isn't the file that the campaign began with") {
				t.Errorf("resumed with a file that was edited: %v", err)
			}
		})
	}
}

// The journal of a campaign by an earlier version names the campaign by another key. Completed steps are not repeated.
func TestACampaignOfAnEarlierVersionIsResumed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/earlier")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, program.JournalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("FOLDER"), []byte(dir))
	err = errors.Join(os.WriteFile(path, text, 0o644), os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	h, p, err := Kept(dir, readPlan)
	if err != nil {
		t.Fatal(err)
	}
	if h.Kind != Kind || h.Name != "pings" || !p.Anyway || len(p.Steps) != 2 {
		t.Errorf("the campaign is %+v with %d steps", h, len(p.Steps))
	}
	o := options(dir)
	o.Drive = func(context.Context, Run) (*program.Outcome, error) {
		return nil, errors.New("the step is done already")
	}
	c, err := Resume(dir, readPlan, o)
	if err != nil {
		t.Fatal(err)
	}
	failures := c.journal.Failures()
	if len(failures) != 1 || !strings.Contains(failures["02-prepare"], "failed: exit status 1") {
		t.Errorf("the failures are %q", failures)
	}
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if !c.journal.Done("02-prepare") || len(c.results) != 2 || c.results[0].Trial == nil {
		t.Errorf("the results are %+v", c.results)
	}
}
