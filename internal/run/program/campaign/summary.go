package campaign

import (
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/judge/verdict"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// Tables returns the results of the steps that are done, and the settings that were compared.
func (c *Campaign) Tables(l units.Language) []cell.Table {
	out := []cell.Table{summary(c.Program, c.results, c.journal.Failures(), l)}
	for i := range c.results {
		report := program.Report{Matrix: c.results[i].Matrix}
		out = append(out, report.Tables(l)...)
	}
	return out
}

// summary has a row for each step, with the result of those that are done and the state of the others. failures
// contains the errors of steps, by ID.
func summary(p *Program, results []Result, failures map[string]string, l units.Language) cell.Table {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	t := cell.Table{ID: "summary", Title: say("CAMPAIGN"), Note: p.Name, Columns: []cell.Column{
		{Head: "#"}, {Head: say("step"), Left: true, Wrap: true}, {Head: say("verdict"), Left: true},
		{Head: say("result"), Left: true, Wrap: true}, {Head: say("took")},
	}}
	for i := range results {
		r := &results[i]
		result, mark := r.outcome(), cell.Plain
		switch result {
		case verdict.Pass:
			mark = cell.Good
		case verdict.Fail:
			mark = cell.Bad
		case verdict.Invalid:
			mark = cell.Warn
		}
		number := cell.Count(r.Number)
		number.Link = r.ID
		t.Add(number, cell.Text(r.title(l)), cell.Text(say(result)).Marked(mark), cell.Text(r.Sentence(l)),
			cell.Text(l.Figure(units.Span(r.Ended.Sub(r.Started)))))
	}
	t.Foot = unfinished(p, results, failures, l)
	if note := p.Note(); !note.IsZero() {
		t.Foot = append(t.Foot, note.In(l))
	}
	return t
}

// unfinished lists the steps that failed and those that were not executed. failures is as in summary.
func unfinished(p *Program, results []Result, failures map[string]string, l units.Language) (out []string) {
	var missing []string
	for i := range p.Steps {
		s := &p.Steps[i]
		switch failure := failures[s.ID()]; {
		case slices.ContainsFunc(results, func(r Result) bool { return r.ID == s.ID() }):
		case failure != "":
			out = append(out, message.Label(l, "The campaign isn't over: %s.", units.Clean(secret.Text(failure))))
		case s.Kind != campaignfile.StepDocument: // it is being written
			missing = append(missing, s.ID())
		}
	}
	if len(missing) > 0 {
		out = append(out, message.Label(l, "Not carried out: %s.", strings.Join(missing, ", ")))
	}
	return out
}

// outcome returns the verdict of a step, or "done" if it has none.
func (r *Result) outcome() string {
	if r.Trial != nil {
		return r.Trial.Verdict
	}
	return "done"
}

// title returns the name of the step in a language.
func (r *Result) title(l units.Language) string {
	if r.Name != "" {
		return r.Name
	}
	title := map[string]string{
		campaignfile.StepPrepare: "Preparation", campaignfile.StepSearch: "Maximum performance",
		campaignfile.StepConfirm:     "Confirmation of the maximum",
		campaignfile.StepReliability: "Reliability", campaignfile.StepAnalyse: "Analysis of the database",
		campaignfile.StepFix: "Optimisation", campaignfile.StepExperiment: "Experiment",
		campaignfile.StepConnections: "Connections to the database", campaignfile.StepMatrix: "Settings compared",
		campaignfile.StepDocument: "Document",
	}[r.Kind]
	return message.Label(l, title)
}
