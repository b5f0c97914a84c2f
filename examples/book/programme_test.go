package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/examples/internal/example/exampletest"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/units"
	"brunt/internal/run/program/campaign"
	"brunt/test/testserver"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// rehearsal shortens the book's campaign from hours to seconds and sets the loads of its steps, so that nothing depends
// on what a busy machine can do.
var rehearsal = strings.NewReplacer(
	"fix: {advisor: true, warm_up: 3s, duration: 15s}", "fix: {advisor: true, warm_up: 100ms, duration: 3s}",
	"{start: 1, min: 0.05, max: 1000, trial: 15s, warm_up: 2s, width: 0.03, trials: 14, max_sessions: 256}",
	"{start: 1, min: 0.5, max: 2, trial: 1s, warm_up: 100ms, width: 0.5, trials: 3}",
	"confirm: {ramp: 30s, hold: 4m}", "confirm: {at: 1, ramp: 1s, hold: 1s}",
	"analyse: {at: maximum, duration: 90s}", "analyse: {at: 1, warm_up: 500ms, duration: 4s}",
	"repeat: [search, confirm, analyse]", "repeat: [analyse]",
	"{ramp: 30s, hold: 5m}", "{ramp: 1s, hold: 1s}",
	"connections: {duration: 1m}", "connections: {warm_up: 100ms, duration: 2s}",
	"at: maximum\n      warm_up: 2s\n      duration: 12s\n      repetitions: 3",
	"at: 1\n      warm_up: 100ms\n      duration: 1s\n      repetitions: 2",
	"        - {THREADS: 10, POOL: 3}\n", "", "        - {THREADS: 20, POOL: 12}\n", "",
	"        - {THREADS: 40, POOL: 24}\n", "",
	"        - {THREADS: 80, POOL: 48}\n", "", "        - {THREADS: 160, POOL: 96}\n", "",
	"        - {THREADS: 80, POOL: 3}\n", "", "        - {THREADS: 5, POOL: 48}\n", "",
)

// One command runs the whole programme of the book service: it fills the table, measures the capacity of the service,
// the activity of the database and the effect of indexes, applies the helpful ones without asking, and writes the
// document.
func TestBookProgramme(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	dir := t.TempDir()
	book := exampletest.Build(t, dir, "book")
	files := filepath.Join(dir, "given")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	exampletest.Copy(t, files, rehearsal, "plan.yml", "campaign.yml", "vacuum.sql")
	results := filepath.Join(dir, "results")
	for range 2 { // a busy machine may hide the effect of both indexes
		if err := os.RemoveAll(results); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, book, "programme", "--brunt", exampletest.Brunt(t), "--files", files, "--results",
			results, "--rows", "60000")
		cmd.Env = exampletest.Environment()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		found, _ := filepath.Glob(filepath.Join(results, "campaign", "*"))
		if len(found) != 1 {
			t.Fatalf("campaigns: %q", found)
		}
		kept := keptIndexes(t, found[0])
		if !kept["author"] && !kept["name"] {
			continue
		}
		checkBook(t, found[0], kept)
		return
	}
	t.Error("no index was kept")
}

// jmeterRehearsal shortens the campaign with JMeter's test plan.
var jmeterRehearsal = strings.NewReplacer(
	"{start: 1, min: 0.05, max: 1000, trial: 15s, warm_up: 2s, width: 0.05, trials: 12}",
	"{start: 1, min: 0.5, max: 2, trial: 500ms, warm_up: 100ms, width: 0.5, trials: 2}",
	"{ramp: 30s, hold: 4m}", "{at: 1, ramp: 500ms, hold: 1s}",
	"{at: maximum, duration: 90s}", "{at: 1, warm_up: 100ms, duration: 2s}",
	"{ramp: 30s, hold: 5m}", "{ramp: 500ms, hold: 1s}",
	"connections: {duration: 1m}", "connections: {warm_up: 100ms, duration: 1s}",
	"at: maximum\n      warm_up: 2s\n      duration: 12s\n      repetitions: 3",
	"at: 1\n      warm_up: 100ms\n      duration: 500ms\n      repetitions: 2",
	"        - {THREADS: 10, POOL: 3}\n", "", "        - {THREADS: 20, POOL: 12}\n", "",
	"        - {THREADS: 40, POOL: 24}\n", "", "        - {THREADS: 5, POOL: 6}\n", "",
	"        - {THREADS: 80, POOL: 48}\n", "", "        - {THREADS: 160, POOL: 96}\n", "",
	"        - {THREADS: 5, POOL: 48}\n", "",
)

// The same programme has JMeter's test plan as its load: all steps are carried out, with the operations of the test
// plan, which the document has.
func TestBookProgrammeOfJMeter(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	dir := t.TempDir()
	book := exampletest.Build(t, dir, "book")
	files, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	given := filepath.Join(dir, "given")
	if err := os.Mkdir(given, 0o755); err != nil {
		t.Fatal(err)
	}
	// Each thread sends its first request at once, and the next ones when the rate allows: two threads soon do.
	twoThreads := strings.NewReplacer("${__P(threads,4)}", "2")
	exampletest.Copy(t, given, twoThreads, "../jmeter/book.jmx")
	exampletest.Copy(t, given, jmeterRehearsal, "../jmeter/campaign.yml", "../jmeter/indexes.sql", "../jmeter/books.csv")
	results := filepath.Join(dir, "results")
	cmd := exec.CommandContext(t.Context(), book, "programme", "--brunt", exampletest.Brunt(t), "--files", files,
		"--results", results, "--rows", "20000", "--jmx", filepath.Join(given, "book.jmx"), "--", "--anyway")
	cmd.Env = exampletest.Environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	found, _ := filepath.Glob(filepath.Join(results, "campaign", "*", "[0-9]*"))
	var steps []string
	for _, step := range found {
		_, kind, _ := strings.Cut(filepath.Base(step), "-")
		steps = append(steps, kind)
	}
	want := []string{"prepare", "search", "confirm", "analyse", "fix", "search", "confirm", "analyse", "reliability",
		"connections", "matrix", "document"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q", steps)
	}
	for _, step := range found {
		if !strings.HasSuffix(step, "-analyse") {
			continue
		}
		run := runOf(t, step)
		if len(run.Operations) != 7 || run.Total.OK == 0 {
			t.Errorf("%s: %d operations, %d answered", step, len(run.Operations), run.Total.OK)
		}
		if in := &run.Inspections[0]; byAuthor(t, in).Calls == 0 {
			t.Errorf("%s: no statement by author", step)
		}
	}
	for _, name := range []string{"report-en.md", "report-ru.md"} {
		texts, _ := filepath.Glob(filepath.Join(results, "campaign", "*", name))
		if len(texts) != 1 {
			t.Fatalf("%s: %q", name, texts)
		}
		if text, err := os.ReadFile(texts[0]); err != nil || !bytes.Contains(text, []byte("change price")) {
			t.Errorf("%s: %v, without the operations", name, err)
		}
	}
}

// The published documents are based on maxima that were confirmed, and are short enough to be read.
func TestPublishedDocument(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	browser := testserver.NewBrowser(t, t.TempDir())
	for _, name := range []string{"report-en.html", "report-ru.html"} {
		path, err := filepath.Abs(filepath.Join("..", "..", "docs", "book", name))
		if err != nil {
			t.Fatal(err)
		}
		browser.Open("file://" + path)
		if pages := browser.Pages(); pages < 5 || pages > 15 {
			t.Errorf("%s takes %d pages of A4, at most 15 are read", name, pages)
		}
		var verdicts []string
		browser.Eval(`[...document.querySelectorAll("#summary tbody tr")]
			.filter(r => /Confirmation|Подтверждение/.test(r.innerText))
			.map(r => r.querySelector(".good") ? "held" : r.innerText)`, &verdicts)
		if !slices.Equal(verdicts, []string{"held", "held"}) {
			t.Errorf("%s: confirmations: %q", name, verdicts)
		}
	}
}

// keptIndexes returns which of the columns whose indexes were tried have one, and checks that this follows from what
// was measured.
func keptIndexes(t *testing.T, dir string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "05-fix", "step.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fix campaign.Result
	if err := json.Unmarshal(text, &fix); err != nil || fix.Fix == nil {
		t.Fatalf("%v: %s", err, text)
	}
	kept := map[string]bool{}
	for _, p := range fix.Fix.Proofs {
		columns := strings.Join(p.Columns, ",")
		kept[columns] = p.Kept
		if p.Table != "bookv2" || (columns != "author" && columns != "name") {
			t.Errorf("an index on %s (%s) was tried", p.Table, columns)
		}
		// Other processes may hide the effect of an index. Then the index is dropped and no effect is claimed.
		if c := p.Change; c == nil || c.Low >= 0 || p.Kept != (c.High < 0) {
			t.Errorf("the index on %s: kept %v, with a change of %+v", columns, p.Kept, c)
		}
	}
	if len(kept) != 2 {
		t.Errorf("indexes tried: %v", kept)
	}
	return kept
}

// checkBook checks that a campaign's folder contains the conclusions of the article, with the indexes that were kept.
func checkBook(t *testing.T, dir string, kept map[string]bool) {
	t.Helper()
	both := kept["author"] && kept["name"]
	runs := [2]*record.Run{runOf(t, filepath.Join(dir, "04-analyse")), runOf(t, filepath.Join(dir, "06-analyse"))}
	before, after := &runs[0].Inspections[0], &runs[1].Inspections[0]
	has := func(in *record.Inspection, id string) bool {
		return slices.ContainsFunc(in.Findings, func(f record.Finding) bool { return f.ID == id })
	}
	for id, want := range map[string][2]bool{"seq-scan": {true, !both}, "count-star": {true, true}} {
		if got := [2]bool{has(before, id), has(after, id)}; got != want {
			t.Errorf("%s before and after: %v, want %v\n%+v", id, got, want, after.Findings)
		}
	}
	// Without the indexes, the sequential scans may use so much of the server's time that deep offsets are not
	// reported.
	if both && !has(after, "deep-offset") {
		t.Errorf("no deep-offset once the indexes are there: %+v", after.Findings)
	}
	// Times depend on what else the machine does, the blocks that a call reads don't: all of the table, or the few on the
	// way to a row.
	if a, b := byAuthor(t, before), byAuthor(t, after); kept["author"] && blocksPerCall(b)*20 > blocksPerCall(a) {
		t.Errorf("by author: %g blocks a call before, %g after", blocksPerCall(a), blocksPerCall(b))
	}
	if c := before.Activity.Clients; !slices.ContainsFunc(c,
		func(p record.ClientPool) bool { return p.Application == "book" && p.Max == 3 }) {
		t.Errorf("connections: %+v", c)
	}
	for _, c := range []struct {
		name      string
		language  units.Language
		sentences []string
	}{
		{"report-en.md", units.English, []string{"### What the fixes brought",
			"Compared at equal load, N = 1 (34.0/s): step 4 before the fixes, step 6 after them.", "| mean before |"}},
		{"report-ru.md", units.Russian, []string{"### Что дала оптимизация",
			"Сравнение при равной нагрузке, N = 1 (34,0/с): шаг 4 до исправлений, шаг 6 после них.", "| среднее до |"}},
	} {
		text, err := os.ReadFile(filepath.Join(dir, c.name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.sentences {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s doesn't say %q", c.name, want)
			}
		}
		checkGains(t, c.name, string(text), c.language, runs[0], runs[1])
	}
	for _, name := range []string{"report-en.html", "report-en.md", "report-ru.html", "report-ru.md"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(text, []byte("bookv2")) {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
}

// checkGains checks that a document gives the speedups of the operation by author and of its statement that follow from
// the runs before and after the fixes.
func checkGains(t *testing.T, name, text string, l units.Language, before, after *record.Run) {
	t.Helper()
	times := func(a, b float64) string { return l.Figure(units.Digits3(a/b)) + "×" }
	operation := func(run *record.Run) record.Latency {
		k := slices.IndexFunc(run.Operations, func(o record.Operation) bool { return o.Name == "by author" })
		if k < 0 {
			t.Fatalf("operations %+v", run.Operations)
		}
		return run.Operations[k].Response
	}
	a, b := operation(before), operation(after)
	want := []string{times(float64(a.P50Ns), float64(b.P50Ns)), times(float64(a.P95Ns), float64(b.P95Ns))}
	if got := factorsOf(text, "| by author | ", ""); !slices.Equal(got, want) {
		t.Errorf("%s: by author is faster by %q, want %q", name, got, want)
	}
	first, last := byAuthor(t, &before.Inspections[0]), byAuthor(t, &after.Inspections[0])
	want = []string{times(first.MeanNs, last.MeanNs)}
	begin := "|"
	if len(first.Operations) > 0 { // those that were executed as often, by chance also others
		begin = "| " + strings.Join(first.Operations, ", ") + " | select "
	}
	if got := factorsOf(text, begin, ".author=$1"); !slices.Equal(got, want) {
		t.Errorf("%s: the statement by author is faster by %q, want %q", name, got, want)
	}
}

// byAuthor returns the statistics of the statement that looks books up by author.
func byAuthor(t *testing.T, in *record.Inspection) *record.Statement {
	t.Helper()
	all := in.Windows[0].Statements
	k := slices.IndexFunc(all,
		func(s record.Statement) bool { return strings.HasSuffix(s.Text, "where bookv2x0_.author=$1") })
	if k < 0 {
		t.Fatal("the statement by author wasn't counted")
	}
	return &all[k]
}

func blocksPerCall(s *record.Statement) float64 {
	return (s.More["shared_blks_hit"] + s.More["shared_blks_read"]) / s.Calls
}

// runOf returns the run of a step with its inspection.
func runOf(t *testing.T, step string) *record.Run {
	t.Helper()
	run := recordtest.Result(t, filepath.Join(step, "run"))
	if len(run.Inspections) != 1 || len(run.Inspections[0].Windows) == 0 {
		t.Fatalf("%s has no inspection", step)
	}
	return run
}

// interval is that of a factor.
var interval = regexp.MustCompile(` \(\S+ … \S+\)`)

// factorsOf returns the factors of improvement in the first line of a document that begins with begin and contains part
// and any factor, without their intervals.
func factorsOf(text, begin, part string) (all []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, begin) || !strings.Contains(line, part) || !strings.Contains(line, "×") {
			continue
		}
		for _, c := range strings.Split(line, "|") {
			if c = strings.TrimSpace(c); strings.HasSuffix(c, "×") {
				all = append(all, interval.ReplaceAllString(c, ""))
			}
		}
		return all
	}
	return nil
}
