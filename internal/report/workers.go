package report

import (
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// workers is the table of the workers that sent the load. It is empty if there were none.
func (t *writer) workers() cell.Table {
	out := cell.Table{ID: "workers", Title: t.say("WORKERS"), Note: t.say("response time, all operations")}
	out.Columns = []cell.Column{
		{Head: t.say("worker"), Left: true}, {Head: t.say("done")}, {Head: t.say("done/s"), Priority: 2}, {Head: "p99"},
		{Head: t.say("started late"), Priority: 3}, {Head: t.say("clock offset"), Priority: 5},
		{Head: t.say("result"), Left: true, Wrap: true},
	}
	for i := range t.run.Parts {
		p := &t.run.Parts[i]
		w := p.Worker
		if w == nil {
			continue
		}
		offset := cell.Text(t.span(w.ClockOffsetNs) + " ± " + t.span(w.ClockUncertaintyNs))
		out.Add(cell.Text(units.Clean(w.Name)), cell.Count(p.Done), cell.Rate(p.DonePerS), cell.Time(p.ResponseP99Ns),
			cell.Time(w.StartLateNs), offset, t.workerResult(p))
	}
	return out
}

// workerResult returns a worker's verdict, or that the worker was lost.
func (t *writer) workerResult(p *record.Part) cell.Cell {
	w := p.Worker
	if w.LostNs > 0 {
		text := t.say("lost after %s", t.span(int64(time.Duration(w.LostNs).Round(100*time.Millisecond))))
		if !w.Lost.IsZero() {
			text += ": " + units.Clean(w.Lost.In(t.l))
		}
		if w.GivenNs > 0 {
			text += t.say("; others have its share from %s on",
				t.span(int64(time.Duration(w.GivenNs).Round(100*time.Millisecond))))
		}
		if w.Missing > 0 {
			text += t.say("; about %s missing", plural(t, w.Missing, "operation", "operations"))
		}
		return cell.Text(text).Marked(cell.Bad)
	}
	if p.Verdict == verdict.Invalid {
		return cell.Text(p.Verdict).Marked(cell.Bad) // the reasons are the verdict's
	}
	return cell.Text(p.Verdict)
}

// workersNow shows the workers of a load that is under way.
func (t *writer) workersNow(workers []measure.Worker) cell.Table {
	out := cell.Table{ID: "workers", Title: t.say("WORKERS"), Note: t.say("%s of %s workers",
		units.Count(uint64(measure.Left(workers))), units.Count(uint64(len(workers))))}
	out.Columns = []cell.Column{
		{Head: t.say("worker"), Left: true}, {Head: t.say("done")}, {Head: t.say("done/s")}, {Head: t.say("lag")},
		{Head: t.say("result"), Left: true},
	}
	for i := range workers {
		w, state := &workers[i], cell.Text("")
		if w.Lost {
			state = cell.Text(t.say("lost")).Marked(cell.Bad)
		}
		out.Add(cell.Text(units.Clean(w.Name)), cell.Count(w.Done), cell.Rate(w.DonePerS),
			cell.Time(w.LagMaxNs), state)
	}
	return out
}
