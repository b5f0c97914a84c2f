package report

import (
	"cmp"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// adaptive is the table of adaptive phases: their goals, and the loads at which they settled.
func (t *writer) adaptive() cell.Table {
	out := cell.Table{ID: "adaptive", Title: t.say("ADAPTIVE LOAD")}
	out.Columns = []cell.Column{
		{Head: t.say("phase"), Left: true}, {Head: t.say("goal"), Left: true},
		{Head: t.say("method"), Left: true, Priority: 4}, {Head: t.say("settled at")}, {Head: t.say("spread"), Priority: 3},
		{Head: t.say("after"), Priority: 2}, {Head: t.say("decisions"), Priority: 5},
	}
	for i := range t.run.Phases {
		ph := &t.run.Phases[i]
		a := ph.Adaptive
		if a == nil {
			continue
		}
		m := cell.Plain
		if !a.Settled && a.Decisions > 0 {
			m = cell.Bad
		}
		goal := cmp.Or(a.Goal, t.say("as much as response times allow"))
		out.Add(cell.Text(units.Clean(ph.Name)), cell.Text(units.Clean(goal)), cell.Text(a.Method),
			estimate(cell.Rate(a.RatePerS).Marked(m), a.Rate), cell.Metric(a.Spread, "share").Marked(m),
			cell.Text(t.decisions(a)), cell.Count(uint64(a.Decisions)))
	}
	if len(out.Rows) == 0 {
		return cell.Table{}
	}
	return out
}

// decisions formats after how many decisions a load settled.
func (t *writer) decisions(a *record.Adaptive) string {
	if !a.Settled {
		return t.say("not settled")
	}
	return plural(t, a.SettledAfter, "decision", "decisions")
}
