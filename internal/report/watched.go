package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// watchedLoad is the name of the load itself among the watched sources in the record.
const watchedLoad = "load"

// mostOfScript limits the rows for checks and metrics of a script.
const mostOfScript = 100

// broken returns the share of a check's attempts that failed.
func broken(m record.WatchedMetric) float64 {
	if !strings.HasPrefix(m.Name, record.WatchedCheck) {
		return 0
	}
	return 1 - m.Mean
}

// watched is the table of the watched sources. The load's own throughput is included only if it drifted.
func (t *writer) watched() cell.Table {
	out := cell.Table{ID: "watched", Title: t.say("WATCHED"), Note: t.say("warm-up excluded; counters as rates"),
		Columns: []cell.Column{
			{Head: t.say("what"), Left: true}, {Head: t.say("figure"), Left: true}, {Head: t.say("first"), Priority: 2},
			{Head: t.say("mean"), Priority: 3},
			{Head: t.say("max"), Priority: 1}, {Head: t.say("last")}, {Head: t.say("change"), Left: true},
		}}
	for i := range t.run.Watched {
		w := &t.run.Watched[i]
		script := w.Source == record.WatchedScript
		if script {
			out.Note = t.say("warm-up excluded; counters as rates, those of k6 as sums")
		}
		if record.IsMachine(w.Source) && len(w.Metrics) > 0 {
			continue
		}
		name := units.Clean(w.Source)
		metrics := w.Metrics
		if more := len(metrics) - mostOfScript; script && more > 0 {
			metrics = slices.Clone(metrics)
			slices.SortStableFunc(metrics, func(a, b record.WatchedMetric) int { return cmp.Compare(broken(b), broken(a)) })
			metrics = metrics[:mostOfScript]
			out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
		}
		for k := range metrics {
			m := &metrics[k]
			if w.Source == watchedLoad && (m.Trend == nil || m.Trend.Verdict != record.TrendDrift) {
				continue
			}
			value := func(x float64) cell.Cell { return cell.Figure(x, m.Unit) }
			if script && m.Min == m.Max && (m.Unit == "count" || m.Unit == "bytes") {
				out.Add(cell.Text(name), cell.Text(verdict.FigureName(m.Name).In(t.l)), cell.Cell{}, cell.Cell{}, cell.Cell{},
					value(m.Last), cell.Cell{})
				name = ""
				continue
			}
			out.Add(cell.Text(name), cell.Text(verdict.FigureName(m.Name).In(t.l)), value(m.First),
				meanCell(m.Mean, m.Unit), value(m.Max),
				value(m.Last), t.change(m))
			name = ""
		}
		if len(w.Metrics) == 0 {
			out.Add(cell.Text(name), cell.Text(t.say("no samples")), cell.Cell{}, cell.Cell{}, cell.Cell{}, cell.Cell{},
				cell.Text(units.Clean(w.Trouble)).Marked(cell.Warn))
		}
	}
	return out
}

// Watched returns the tables of the machines, processes and services that were watched during a run, or none if nothing
// was watched.
func Watched(run *record.Run, l units.Language) (out []cell.Table) {
	t := &writer{run: run, l: l}
	for _, table := range []cell.Table{t.machines(), t.watched()} {
		if len(table.Rows) > 0 {
			out = append(out, table)
		}
	}
	return out
}

// change describes a figure's trend.
func (t *writer) change(m *record.WatchedMetric) cell.Cell {
	trend := m.Trend
	if trend == nil {
		return cell.Cell{}
	}
	switch trend.Verdict {
	case record.TrendLeak:
		return cell.Text(t.say("leak: %s", verdict.GrowthText(m).In(t.l))).Marked(cell.Bad)
	case record.TrendDrift:
		return cell.Text(t.say("drift: %s", t.l.Value(trend.Share, "change"))).Marked(cell.Warn)
	case record.TrendLevelling:
		return cell.Text(t.say("grew by %s, levelling off", t.share(trend.Share))).Marked(cell.Dim)
	case record.TrendUnjudged:
		return cell.Text(t.say("not judged: %s", trend.Why.In(t.l))).Marked(cell.Dim)
	}
	return cell.Text(t.say("steady")).Marked(cell.Dim)
}

// changed is the table of judged figures of the watched sources, without the steady ones.
func (t *writer) changed() cell.Table {
	all := t.watched()
	steady := t.say("steady")
	rows := all.Rows
	all.Rows = nil
	name := ""
	for _, row := range rows {
		if row[0].Text != "" {
			name = row[0].Text
		}
		if c := row[len(row)-1].Text; c != "" && c != steady {
			row[0].Text = name
			all.Add(row...)
		}
	}
	return all
}

// meanCell returns a mean, which of counts is seldom a whole number.
func meanCell(x float64, unit string) cell.Cell {
	if unit == "count" && x != math.Trunc(x) {
		unit = cell.UnitNumber
	}
	return cell.Figure(x, unit)
}
