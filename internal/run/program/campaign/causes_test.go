package campaign

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// kept returns a fix with one index that was kept.
func kept(number int) Result {
	return Result{Kind: campaignfile.StepFix, Number: number, Fix: &Fix{Proofs: []record.Proof{{
		Proposal: record.Proposal{DDL: "CREATE INDEX i ON book (author)", Name: "i", Table: "book",
			Columns: []string{"author"}},
		Kept: true, Why: message.Literal("it is faster"),
		Change: &record.ProofChange{Metric: record.ServerTime, Value: -0.998, Low: -0.999, High: -0.99},
		Statements: []record.ProofStatement{{Statement: "1", Text: "select * from book where author = $1", BeforeNs: 120e6,
			AfterNs: 0.2e6}}}}}}
}

// Without a fix that stays there is no effect of fixes: two searches that found different maxima contradict each other.
func TestNoEffectWithoutACause(t *testing.T) {
	dropped := kept(2)
	dropped.Fix.Proofs[0].Kept = false
	for _, c := range []struct {
		name string
		fix  Result
		want string
	}{
		{"kept", kept(2), "The maximum rose from 100/s to 335/s, 3.35 (3.25 … 3.45) times."},
		{"dropped", dropped, "Nothing was changed between the searches, and they found different maxima, 100/s and 335/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &document{l: units.English, results: []Result{searched(1, 0, 10), c.fix, searched(3, 1, 33.5)}}
			if got := d.rise(); !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	a, b := searched(1, 0, 10), searched(2, 1, 33.5)
	near := searched(2, 1, 10.5)
	if !contradict(a.Search, b.Search) || contradict(a.Search, near.Search) || contradict(near.Search, a.Search) {
		t.Error("which searches contradict each other?")
	}
	if changed([]Result{kept(1), a, dropped}) || !changed([]Result{a, kept(2)}) {
		t.Error("what was changed since the first search?")
	}
}

// The causes are listed with their evidence, remedies and proofs. Statements are in the appendix.
func TestCausesOnTheFirstPage(t *testing.T) {
	d := &document{l: units.English, results: []Result{searched(1, 0, 10), kept(2), searched(3, 1, 100)},
		program: &Program{Campaign: &campaignfile.Campaign{}}}
	rows := d.causes().Rows
	if len(rows) != 1 || rows[0][0].Text != "Missing index" || rows[0][1].Text != "S1 took 120 ms, and 200 µs with it" ||
		rows[0][2].Text != "index on book (author)" || !strings.HasPrefix(rows[0][3].Text, "kept: −99.8 % (−99.9 %") {
		t.Errorf("%+v", rows)
	}
	d.appendix()
	if last := d.parts[len(d.parts)-1]; len(last.tables[0].Rows) != 1 ||
		last.tables[0].Rows[0][1].Text != "select * from book where author = $1" {
		t.Errorf("%+v", last)
	}
	for id := range titles {
		if d.titleOf(id) == strings.ReplaceAll(id, "-", " ") {
			t.Errorf("%s has no title", id)
		}
	}
}

// Findings about statements that an index was kept for are told only if they come after it, each with the text of its
// statement in the same inspection.
func TestFindingsSinceTheFix(t *testing.T) {
	fix := kept(2)
	fix.Fix.Proofs[0].Gains = []record.Effect{{Statement: "1"}}
	d := &document{l: units.English, results: []Result{{Kind: campaignfile.StepAnalyse, Number: 1}, fix,
		{Kind: campaignfile.StepAnalyse, Number: 3}}}
	const text = "select * from book where author = $1 order by name"
	run := &record.Run{Inspections: []record.Inspection{{Windows: []record.ServerWindow{{
		Statements: []record.Statement{{ID: "1", Text: text}}}},
		Findings: []record.Finding{{ID: "seq-scan", Statement: "1", Subject: "select * from book"},
			{ID: "bloat", Subject: "book"}, {ID: "bloat", Subject: "book"}}}}}
	if got := d.found(nil, &d.results[0], run); len(got) != 1 || got[0].ID != "bloat" {
		t.Errorf("before the fix: %+v", got)
	}
	if got := d.found(nil, &d.results[2], run); len(got) != 2 || got[0].text != text || got[1].text != "book" {
		t.Errorf("after it: %+v", got)
	}
}

// The chart of the first page has the trials that passed and those that failed, and the limit.
func TestLoadChart(t *testing.T) {
	r := searched(1, 0, 10)
	for i, n := range []float64{5, 10, 20} {
		trial := program.Result{Trial: program.Trial{N: n}, Verdict: verdict.Pass, AskedPerS: n * 10,
			Strain: record.Figure(0.2 * n / 2)}
		if i == 2 {
			trial.Verdict, trial.Strain = verdict.Fail, record.Figure(math.Inf(1))
		}
		r.Search.Trials = append(r.Search.Trials, trial)
	}
	d := &document{l: units.English, results: []Result{r}, program: &Program{Campaign: &campaignfile.Campaign{}}}
	c, ok := d.loadChart()
	if !ok || strings.Count(c.svg, "<circle") != 2+1 || !strings.Contains(c.svg, ">failed<") {
		t.Errorf("%v: %s", ok, c.svg)
	}
}

// What responses are made of is drawn as wide as the other charts, if something is known of it.
func TestResponseParts(t *testing.T) {
	d := &document{l: units.English}
	o := record.Operation{Name: "read"}
	o.Response.MeanNs, o.Service.MeanNs = 5e6, 4e6
	run := &record.Run{Operations: []record.Operation{o}}
	if got := d.responseParts(run, "01-analyse"); got != nil {
		t.Errorf("nothing is known: %+v", got)
	}
	run.Processes = make([]record.Process, 1)
	got := d.responseParts(run, "01-analyse")
	if len(got) != 1 || !strings.Contains(got[0].svg, `viewBox="0 0 440 `) ||
		!strings.Contains(got[0].svg, "waiting for a session 1.00 ms") {
		t.Errorf("%+v", got)
	}
}

// What limits the target comes from the hold that failed, or else from the last trial that failed.
func TestLimitIsThatOfTheFailedHold(t *testing.T) {
	search, held := searched(1, 0, 10), confirmed(2, 0, 8)
	search.Search.Trials = []program.Result{{Trial: program.Trial{N: 10}, Verdict: verdict.Pass},
		{Trial: program.Trial{N: 10.3}, Verdict: verdict.Fail}}
	held.Holds = []program.Result{{Trial: program.Trial{N: 10}, Verdict: verdict.Fail},
		{Trial: program.Trial{N: 9}, Verdict: verdict.Fail}, *held.Trial}
	d := &document{l: units.English, results: []Result{search, held},
		program: &Program{Campaign: &campaignfile.Campaign{}}}
	if l := d.limit(); l == nil || l.trial.N != 9 {
		t.Errorf("%+v", l)
	}
	held.Holds = nil
	d.results = []Result{search, held}
	if l := d.limit(); l == nil || l.of.Number != 1 || math.Abs(l.trial.N-10.3) > 1e-9 {
		t.Errorf("%+v", l)
	}
	in := &record.Inspection{Activity: record.ServerActivity{Waits: []record.Wait{{Class: "Lock", Mean: 3, Share: 0.6},
		{Class: "CPU", Mean: 1.5, Share: 0.3}, {Class: "IO", Mean: 0.1, Share: 0.02}}}}
	if got := d.waiting(in); got != "What the database's active sessions waited for at this load: Lock 60.0 %, nothing (they computed) 30.0 %." {
		t.Error(got)
	}
}

// Memory that grows over all steps is a leak, though each run is too short to show it.
func TestMemoryOverAllSteps(t *testing.T) {
	for leak, want := range map[float64]bool{0: false, 2e4: true} {
		m := memory{source: "tree:7", requests: 1000}
		for i := range 200 {
			v := 50e6 + leak*1e3*float64(i) + 1e6*float64(i*7%5)
			if i%40 == 0 {
				v = math.NaN()
			}
			m.unixNs, m.bytes = append(m.unixNs, 1e9*float64(i)), append(m.bytes, v)
		}
		if _, grows := m.growth(); grows != want {
			t.Errorf("%g bytes a sample: grows %v", leak, grows)
		}
		d := &document{l: units.English, memories: []memory{m}}
		if got := d.memoryText(); strings.Contains(got, "The memory of tree:7 grew by") != want {
			t.Errorf("%q", got)
		}
		d.memory()
		if len(d.parts) != 1 || len(d.parts[0].charts) != 1 {
			t.Errorf("%+v", d.parts)
		}
	}
}

// The timetable warns of runs with too few requests for their thresholds.
func TestFewRequestsAreWarnedOf(t *testing.T) {
	threshold, err := plan.ParseThreshold("response.p(95) < 1s")
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Campaign: &campaignfile.Campaign{}, Scale: 1, least: leastLoad}
	s := &Step{Number: 2, Step: campaignfile.Step{Kind: campaignfile.StepSearch, Start: 1, Trial: 4 * time.Second},
		Load: &plan.Plan{Load: []plan.Phase{{Kind: plan.Open, RateTo: 9.5}}, Thresholds: []plan.Threshold{threshold}}}
	if got := p.fewRequests(units.English, s); !strings.HasPrefix(got,
		"step 2: each run has about 38 requests at N 1; ") ||
		!strings.Contains(got, "need 100,") {
		t.Errorf("%q", got)
	}
	s.Trial = time.Minute
	if got := p.fewRequests(units.English, s); got != "" {
		t.Errorf("%q", got)
	}
}

// A line over loads has one point for loads that the search can't tell apart.
func TestLinesDontScribble(t *testing.T) {
	s := &program.SearchLog{Options: program.SearchOptions{RatePerS: 10, Width: .03}}
	var points []program.Result
	for _, n := range []float64{1, 2, 2.01, 2.03, 4} {
		points = append(points, program.Result{Trial: program.Trial{N: n}, P95Ns: record.Figure(1e6 * n)})
	}
	line := lineOf("p95", s, points, func(r *program.Result) float64 { return float64(r.P95Ns) })
	if !slices.Equal(line.X, []float64{10, 20.15, 40}) || math.Abs(line.Y[1]-2.01e6) > 1 {
		t.Errorf("%v, %v", line.X, line.Y)
	}
}

// Trials are inspected without explaining statements, holds with it.
func TestWhatIsInspected(t *testing.T) {
	c := &Campaign{Program: &Program{Campaign: &campaignfile.Campaign{Inspect: "pg=x"}}, service: &service{}}
	c.o.Dir = t.TempDir()
	var runs []Run
	c.o.Drive = func(_ context.Context, r Run) (*program.Outcome, error) {
		runs = append(runs, r)
		return &program.Outcome{Run: &record.Run{}}, nil
	}
	s := &Step{Number: 1, Step: campaignfile.Step{Kind: campaignfile.StepSearch}}
	for name, brief := range map[string]bool{"a": briefly, "b": closely} {
		if _, err := c.execute(s, brief)(t.Context(), program.Load{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return strings.Compare(a.Name, b.Name) })
	for i, want := range []Run{{Inspect: "pg=x", Brief: true}, {Inspect: "pg=x"}} {
		if runs[i].Inspect != want.Inspect || runs[i].Brief != want.Brief {
			t.Errorf("%+v, want %+v", runs[i], want)
		}
	}
}
