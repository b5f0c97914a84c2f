package campaign

import (
	"slices"

	"brunt/internal/base/secret"
	"brunt/internal/judge/verdict"
	"brunt/internal/render/cell"
	"brunt/internal/run/program/campaign/campaignfile"
)

// overview is the first page: the maximum that was held, one chart of the load against the response time, the causes
// with their evidence and remedies, and what limits the target now.
func (d *document) overview() part {
	p := part{id: "overview", title: d.say("Summary"), tiles: d.tiles()}
	if held := d.heldMaximum(); held != "" {
		p.paragraphs = append(p.paragraphs, held)
	}
	if text := d.rise(); text != "" {
		p.paragraphs = append(p.paragraphs, text)
	}
	if c, ok := d.loadChart(); ok {
		p.charts = append(p.charts, c)
	}
	if t := d.causes(); len(t.Rows) > 0 {
		p.tables = append(p.tables, t)
	}
	t := cell.Table{ID: "overview-points", Columns: []cell.Column{{Left: true}, {Left: true, Wrap: true}}}
	add := func(name string, lines ...string) {
		for i, line := range lines {
			label := ""
			if i == 0 {
				label = name
			}
			t.Add(cell.Text(label), cell.Text(line))
		}
	}
	add(d.say("what limits it"), d.limits()...)
	add(d.say("also changed"), d.changes()...)
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

// changes lists what steps changed besides the indexes, which are among the causes.
func (d *document) changes() (out []string) {
	for _, r := range d.ofKind(campaignfile.StepFix) {
		for _, name := range slices.Concat(r.Fix.Files, r.Fix.Commands) {
			out = append(out, secret.Text(name)+".")
		}
	}
	return out
}

// advice lists what to do next, besides the remedies of the causes.
func (d *document) advice() (out []string) {
	if r := d.lastOf(campaignfile.StepMatrix); r != nil {
		out = append(out, r.Sentence(d.l))
	}
	if r := d.lastOf(campaignfile.StepReliability); r != nil && r.Trial.Verdict != verdict.Pass {
		out = append(out, d.say("Find out why the load wasn't held: %s", r.Sentence(d.l)))
	}
	if text := d.memoryText(); text != "" {
		out = append(out, text)
	}
	return out
}
