package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/examples/internal/example/exampletest"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/run/program/campaign"
	"brunt/test/testserver"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// rehearsal shrinks the programme: fewer rows, loads of seconds, and no search for a maximum, which depends on the
// machine. There are so many customers that a scan of all of them takes longer than a lookup in an index that waits for
// a core.
var rehearsal = strings.NewReplacer(
	"50000", "24000", "19000", "2000", "400000", "40000",
	"  - search: {start: 1, min: 0.1, max: 20, trial: 30s, warm_up: 5s}\n", "",
	"  - confirm: {ramp: 1m, hold: 10m}\n", "",
	"{at: 1, warm_up: 10s, duration: 5m}", "{at: 1, warm_up: 500ms, duration: 26s}",
	"fix: {advisor: true}", "fix: {advisor: true, warm_up: 100ms, duration: 3s}",
	"repeat: [search, confirm, analyse]", "repeat: [analyse]",
)

// The programme finds each of the five faults, and proves the improvement for the fault that an index fixes.
func TestFaultsAreFound(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	dir := t.TempDir()
	desk := exampletest.Build(t, dir, "desk")
	exampletest.Copy(t, dir, rehearsal, "plan.yml", "campaign.yml", "schema.sql")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, desk, "programme", "--brunt", exampletest.Brunt(t), "--files", dir, "--results",
		filepath.Join(dir, "results"), "--", "--anyway")
	cmd.Env = exampletest.Environment()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
	found, _ := filepath.Glob(filepath.Join(dir, "results", "*", "02-analyse"))
	if len(found) != 1 {
		t.Fatalf("campaigns: %q\n%s", found, out.String())
	}
	check(t, filepath.Dir(found[0]))
}

// check checks that the five faults are found in a campaign's folder and in its documents.
func check(t *testing.T, dir string) {
	t.Helper()
	before, after := inspectionOf(t, filepath.Join(dir, "02-analyse")), inspectionOf(t, filepath.Join(dir, "04-analyse"))
	for _, c := range []struct {
		fault, id, subject, advice string
		mended                     bool
	}{
		{"expression without an index", "seq-scan", "lower(email)", "CREATE INDEX ON customer ((lower(email)))", true},
		{"N+1", "n-plus-one", "from agent where id", "a join", false},
		{"deep OFFSET", "deep-offset", "offset $1", "last row seen", false},
		{"idle in transaction", "idle-in-transaction", "desk-notifier", "commit before it", false},
		{"index that nobody uses", "unused-index", "ticket_title", "DROP INDEX CONCURRENTLY ticket_title", false},
	} {
		has := func(in *record.Inspection) bool {
			return slices.ContainsFunc(in.Findings, func(f record.Finding) bool {
				return f.ID == c.id && strings.Contains(f.Subject, c.subject) && strings.Contains(f.Advice.String(), c.advice)
			})
		}
		if !has(before) {
			t.Errorf("%s: not among %+v\nclients: %+v", c.fault, before.Findings, before.Activity.Clients)
		}
		if has(after) == c.mended {
			t.Errorf("%s after the fix: %v", c.fault, !c.mended)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "03-fix", "step.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fix campaign.Result
	if err := json.Unmarshal(text, &fix); err != nil || fix.Fix == nil || len(fix.Fix.Proofs) != 1 ||
		!fix.Fix.Proofs[0].Kept || !strings.Contains(fix.Fix.Proofs[0].DDL, "ON customer ((lower(email)))") {
		t.Fatalf("the index isn't proven: %v: %s", err, text)
	}
	for _, name := range []string{"report-en.md", "report-ru.md"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"lower(email)", "N+1", "OFFSET", "desk-notifier", "ticket_title"} {
			if !bytes.Contains(bytes.ReplaceAll(text, []byte(`\`), nil), []byte(want)) {
				t.Errorf("%s doesn't name %s", name, want)
			}
		}
	}
}

func inspectionOf(t *testing.T, step string) *record.Inspection {
	t.Helper()
	run := recordtest.Result(t, filepath.Join(step, "run"))
	if len(run.Inspections) != 1 || len(run.Inspections[0].Windows) == 0 {
		t.Fatalf("%s has no inspection", step)
	}
	return &run.Inspections[0]
}

// Bad arguments are refused in one line.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		nil, {"dance"}, {"serve"},
		{"serve", "--address", "127.0.0.1:0", "--dsn", "x", "--pool", "0"},
		{"programme", "--brunt", "nowhere"},
	} {
		if err := run(t.Context(), args); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
