package report

import (
	"cmp"
	"slices"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// mostChanges limits the changes and the events in the terminal.
const mostChanges = 12

// changes is the table of changes seen during the run.
func (t *writer) changes() cell.Table {
	run := t.run
	out := cell.Table{
		ID: "changes", Title: t.say("CHANGES"),
		Note:    t.say("hints, no proof: about one steady run in eight has one by chance"),
		Columns: []cell.Column{{}, {Left: true, Wrap: true}},
	}
	hints := slices.Clone(run.Hints)
	slices.SortStableFunc(hints, func(a, b record.Hint) int { return cmp.Compare(beganNs(&a), beganNs(&b)) })
	shown := hints[:min(len(hints), mostChanges)]
	for _, h := range shown {
		out.Add(t.at(beganNs(&h)), cell.Text(t.hint(&h)))
	}
	if more := uint64(len(run.Hints)-len(shown)) + run.HintsMore; more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	return out
}

// events is the table of actions and decisions during the run.
func (t *writer) events() cell.Table {
	out := cell.Table{ID: "events", Title: t.say("EVENTS"), Note: t.say("what was done or decided meanwhile"),
		Columns: []cell.Column{{}, {Left: true}, {Left: true, Wrap: true, Short: true}}}
	shown := t.run.Events[:min(len(t.run.Events), mostChanges)]
	for _, e := range shown {
		out.Add(t.at(e.AtNs), cell.Text(units.Clean(e.Kind)), cell.Text(units.Clean(e.Text)))
	}
	if more := len(t.run.Events) - len(shown); more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	return out
}

// at formats a time on the run's clock.
func (t *writer) at(ns int64) cell.Cell {
	return cell.Text(t.span(int64(time.Duration(ns).Round(time.Second)))).Marked(cell.Dim)
}

// beganNs returns when a change began, on the run's clock. Records of earlier versions only contain when it was
// noticed.
func beganNs(h *record.Hint) int64 { return cmp.Or(h.BeganNs, h.AtNs) }

// HintText describes a hint: what changed, from which value to which, and by how much.
func HintText(h *record.Hint, l units.Language) string { return (&writer{l: l}).hint(h) }

func (t *writer) hint(h *record.Hint) string {
	s := t.hintWords(h)
	if h.Operation != "" && h.Operation != "all" {
		s = units.Clean(h.Operation) + ": " + s
	}
	return s
}

func (t *writer) hintWords(h *record.Hint) string {
	switch {
	case h.Metric == "generator":
		return t.say(
			"the generator itself stood still for %s (suspended, stopped or starved): what this interval shows is its own doing, not the server's", t.span(int64(h.To)))
	case h.Kind == "pause":
		return t.say("pause: nothing succeeded for %s, after %s before", t.span(h.LengthNs), t.rate(h.From))
	case h.Kind == "periodic":
		return t.say("periodic standstill: every %s, response times rise to %s", t.span(int64(h.From)), t.time(h.To))
	case h.Kind == "recovery":
		return t.say("recovery: operations succeed again, %s", t.rate(h.To))
	}
	name, value := t.hintMetric(h.Metric)
	text := "%s rose from %s to %s"
	if h.To < h.From {
		text = "%s fell from %s to %s"
	}
	s := t.say(text, name, value(h.From), value(h.To))
	if h.Ratio > 0 {
		s += " (×" + t.digits(h.Ratio) + ")"
	}
	if h.Kind == "start-up" {
		s = t.say("start-up: %s", s)
	}
	return s
}

func (t *writer) hintMetric(metric string) (name string, value func(float64) string) {
	switch metric {
	case "p99":
		return t.say("response p99"), t.time
	case "throughput":
		return t.say("throughput"), t.rate
	case "errors":
		return t.say("share of failures"), t.share
	}
	return units.Clean(metric), t.digits
}
