package campaign

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// searched returns the result of a search that ended between N and N + 3 %.
func searched(number, round int, n float64) Result {
	return Result{Kind: campaignfile.StepSearch, Number: number, Round: round, Search: &program.SearchLog{
		Options: program.SearchOptions{RatePerS: 10, Width: .03}, Bracket: program.Bracket{End: program.Found, Lower: n,
			Upper: n * 1.03, UpperPerS: n * 10.3}}}
}

// confirmed returns the result of a confirmation of one hour.
func confirmed(number, round int, n float64) Result {
	return Result{Kind: campaignfile.StepConfirm, Number: number, Round: round, Confirms: true, Trial: &program.Result{
		Trial: program.Trial{N: n}, Verdict: verdict.Pass, LastsNs: 3600e9, AskedPerS: n * 10, Offered: 36000}}
}

// failedAt adds a hold that failed to a confirmation.
func failedAt(r Result, n float64) Result {
	r.Holds = []program.Result{{Trial: program.Trial{N: n}, Verdict: verdict.Fail, AskedPerS: n * 10}, *r.Trial}
	return r
}

// The effect of the fixes is given for the loads that were held, as a rise, a fall, or no difference.
func TestWhatTheFixesBrought(t *testing.T) {
	for _, c := range []struct {
		name    string
		results []Result
		want    string
	}{
		{"a rise", []Result{searched(1, 0, 10), confirmed(2, 0, 8), kept(3), searched(3, 1, 100), confirmed(4, 1, 80)},
			"The maximum rose from 80.0/s to 800/s, 10.0 (7.77 … 12.9) times."},
		{"a fall that isn't certain", []Result{searched(1, 0, 10), kept(2), searched(3, 1, 10), confirmed(4, 1, 9.4)},
			"The maximum is the same within what is known of it: 100/s before, 94.0/s after."},
		{"a fall", []Result{searched(1, 0, 10), confirmed(2, 0, 10), kept(3), searched(3, 1, 10), failedAt(confirmed(4, 1,
			9.4), 9.7)},
			"The maximum fell from 100/s to 94.0/s, by 6.00 %."},
		{"a hold failed between the fixes", []Result{searched(1, 0, 10), kept(2), searched(3, 1, 15),
			failedAt(confirmed(4, 1, 12), 13), kept(5), searched(6, 2, 12.8)},
			"The maximum rose from 100/s to 128/s, 1.28 (1.24 … 1.32) times."},
		{"neither", []Result{searched(1, 0, 10), kept(2), searched(3, 1, 9.8)},
			"The maximum is the same within what is known of it: 100/s before, 98.0/s after."},
		{"once", []Result{searched(1, 0, 10), confirmed(2, 0, 8)}, ""},
		{"nothing held before", []Result{searched(1, 0, 0), searched(2, 1, 10)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &document{l: units.English, results: c.results}
			if got := d.rise(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The first sentence says which load was held for how long, or that none was.
func TestFirstSentence(t *testing.T) {
	for _, c := range []struct {
		name    string
		results []Result
		want    string
	}{
		{"held", []Result{searched(1, 0, 10), confirmed(2, 0, 8)}, "N = 8 (80.0/s) was held for 1 h:"},
		{"searched again since", []Result{searched(1, 0, 10), confirmed(2, 0, 8), searched(3, 1, 20)},
			"The service sustains N = 20 (200/s) and doesn't sustain N = 20.6 (206/s): found. It was not held for longer."},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &document{l: units.English, results: c.results, program: &Program{Campaign: &campaignfile.Campaign{}}}
			p := d.overview()
			if len(p.paragraphs) == 0 || !strings.HasPrefix(p.paragraphs[0], c.want) {
				t.Errorf("%q, want %q", p.paragraphs, c.want)
			}
		})
	}
}

// The document says how many connections are allowed, even if the server uses its default.
func TestConnectionsOfHowMany(t *testing.T) {
	run := &record.Run{Inspections: []record.Inspection{{Product: "PostgreSQL", Activity: record.ServerActivity{
		Clients: []record.ClientPool{{Application: "shop", Max: 7, ActiveMean: 1.5}, {Application: "brunt", Max: 90,
			Generator: true}}}}}}
	step := confirmed(1, 0, 1)
	step.Kind, step.Confirms = campaignfile.StepConnections, false
	for _, c := range []struct {
		settings []record.Setting
		counts   string
		want     string
	}{
		{nil, "",
			"the service had at most 7 of the 100 connections that the database allows, of which 1.50 worked at a time."},
		{[]record.Setting{{Name: "max_connections", Value: "300"}}, "", "at most 7 of the 300 connections"},
		{nil, record.CountsCommands, "others than brunt had at most 7 connections to the server."},
	} {
		run.Inspections[0].Settings, run.Inspections[0].Counts = c.settings, c.counts
		step.Seen = seenOf(run)
		if got := step.Sentence(units.English); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The document says in both languages what the database didn't provide, and how to enable it.
func TestWhatWasNotSeen(t *testing.T) {
	in := &record.Inspection{Missing: []record.Warning{record.NewWarning("inspect-hidden", message.Text("user", "me"))}}
	for l, heading := range map[units.Language]string{units.English: "NOT SEEN", units.Russian: "НЕ УВИДЕНО"} {
		d := &document{l: l, program: &Program{Campaign: &campaignfile.Campaign{}}}
		k := slices.IndexFunc(d.inspection(in, "x"), func(t cell.Table) bool { return t.Title == heading })
		if k < 0 {
			t.Fatalf("no table %q", heading)
		}
		row := d.inspection(in, "x")[k].Rows[0]
		if row[0].Text != in.Missing[0].Text.In(l) || row[1].Text != in.Missing[0].Remedy.In(l) || row[1].Text == "" {
			t.Errorf("%s: %+v", l, row)
		}
		for _, t2 := range d.inspection(&record.Inspection{}, "x") {
			if t2.Title == heading {
				t.Errorf("said although all was seen")
			}
		}
	}
}

// The nodes of a plan are listed below their parents.
func TestPlansAreTrees(t *testing.T) {
	d := &document{l: units.English}
	rows := d.queryPlan(&record.QueryPlan{Nodes: []record.PlanNode{{Text: "Sort"}, {Depth: 1, Text: "Nested Loop"},
		{Depth: 2, Text: "Seq Scan", Detail: "on a"}}}, "x").Rows
	for i, want := range []string{"Sort", "\u00a0\u00a0\u00a0Nested Loop",
		"\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0Seq Scan on a"} {
		if rows[i][0].Text != want {
			t.Errorf("%q, want %q", rows[i][0].Text, want)
		}
	}
}

// The first page says which step failed, and which steps could not be done because of it.
func TestUnfinishedIsSaid(t *testing.T) {
	step := func(n int, kind string) Step { return Step{Number: n, Step: campaignfile.Step{Kind: kind}} }
	p := &Program{Campaign: &campaignfile.Campaign{}, Steps: []Step{step(1, campaignfile.StepPrepare),
		step(2, campaignfile.StepConfirm), step(3, campaignfile.StepMatrix), step(4, campaignfile.StepDocument)}}
	d := &document{l: units.English, program: p, results: []Result{{ID: p.Steps[0].ID()}},
		failures: map[string]string{p.Steps[1].ID(): "the disk is full"}}
	want := []string{"The campaign isn't over: the disk is full.", "Not carried out: 03-matrix."}
	if got := unfinished(d.program, d.results, d.failures, d.l); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d.failures = nil
	for _, id := range []string{"02-confirm", "03-matrix"} {
		d.results = append(d.results, Result{ID: id})
	}
	if got := unfinished(d.program, d.results, d.failures, d.l); len(got) > 0 {
		t.Errorf("all is done, and %q is said", got)
	}
}
