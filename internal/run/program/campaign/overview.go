package campaign

import (
	"slices"

	"brunt/internal/base/secret"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/run/program/campaign/campaignfile"
)

// overview is the first page: the maximum that was held, what limits it, what was changed and proven, and what to do
// next.
func (d *document) overview() part {
	p := part{id: "overview", title: d.say("Summary")}
	t := cell.Table{ID: "overview-points", Columns: []cell.Column{{Left: true}, {Left: true, Wrap: true}}}
	add := func(name string, lines ...string) {
		for i, line := range lines {
			if line == "" {
				continue
			}
			label := ""
			if i == 0 {
				label = name
			}
			t.Add(cell.Text(label), cell.Text(line))
		}
	}
	if held := d.heldMaximum(); held != "" {
		p.paragraphs = append(p.paragraphs, held)
	}
	add(d.say("what limits it"), d.limits()...)
	add(d.say("changed and proven"), d.changes()...)
	add(d.say("what to do next"), d.advice()...)
	add(d.say("not finished"), unfinished(d.program, d.results, d.failures, d.l)...)
	if len(t.Rows) > 0 {
		p.tables = append(p.tables, t)
	}
	return p
}

// lastOf returns the last result of a kind, or nil if there is none.
func (d *document) lastOf(kind string) *Result { return lastOf(d.results, kind) }

// heldMaximum returns which load was held and for how long or, without a confirmation, the result of the search.
func (d *document) heldMaximum() string {
	search, confirm := d.lastOf(campaignfile.StepSearch), d.lastOf(campaignfile.StepConfirm)
	switch {
	case confirm != nil && (search == nil || confirm.Number > search.Number):
		return confirm.Sentence(d.l)
	case search != nil:
		return search.Sentence(d.l) + " " + d.say("It was not held for longer.")
	}
	return ""
}

// limits lists what limits the target: why loads above the maximum failed, and the main causes of time in the database.
func (d *document) limits() (out []string) {
	if confirm := d.lastOf(campaignfile.StepConfirm); confirm != nil && confirm.Confirms && len(confirm.Holds) > 0 &&
		confirm.Trial.Verdict != verdict.Pass {
		out = append(out, wording{d.l}.why(confirm.Trial)+".")
	} else if search := d.lastOf(campaignfile.StepSearch); search != nil {
		for i := len(search.Search.Trials) - 1; i >= 0; i-- {
			if t := &search.Search.Trials[i]; t.Verdict == verdict.Fail && t.N == search.Search.Bracket.Upper {
				out = append(out, d.say("At %s: %s.", wording{d.l}.load(t.N, t.LoadPerS()), wording{d.l}.why(t)))
				break
			}
		}
	}
	for _, f := range d.findings(2) {
		out = append(out, about(&f)+": "+f.Evidence.In(d.l)+".")
	}
	return out
}

// findings returns the most severe findings of the last analysis.
func (d *document) findings(most int) []record.Finding {
	analysis := d.lastOf(campaignfile.StepAnalyse)
	if analysis == nil {
		return nil
	}
	run := d.inspected(analysis)
	if run == nil {
		return nil
	}
	all := run.Inspections[0].Findings
	return all[:min(len(all), most)]
}

// changes lists what steps changed, and the effect.
func (d *document) changes() (out []string) {
	for _, r := range d.ofKind(campaignfile.StepFix) {
		proofs := r.Fix.proofs()
		for i := range proofs {
			if x := &proofs[i]; x.Kept && !x.Why.IsZero() {
				out = append(out, x.DDL+": "+x.Why.In(d.l)+".")
			} else if x.Kept {
				out = append(out, x.DDL+".")
			}
		}
		for _, name := range slices.Concat(r.Fix.Files, r.Fix.Commands) {
			out = append(out, secret.Text(name)+".")
		}
	}
	if text := d.rise(); text != "" && len(out) > 0 {
		out = append(out, text)
	}
	return out
}

// advice lists what to do next, according to the findings.
func (d *document) advice() (out []string) {
	for _, f := range d.findings(3) {
		if !f.Advice.IsZero() {
			out = append(out, about(&f)+": "+f.Advice.In(d.l)+".")
		}
	}
	if r := d.lastOf(campaignfile.StepMatrix); r != nil {
		out = append(out, r.Sentence(d.l))
	}
	if r := d.lastOf(campaignfile.StepReliability); r != nil && r.Trial.Verdict != verdict.Pass {
		out = append(out, d.say("Find out why the load wasn't held: %s", r.Sentence(d.l)))
	}
	return out
}
