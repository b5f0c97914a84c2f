package report

import (
	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// watchedLoad is what the record calls the load itself among what was watched.
const watchedLoad = "load"

// watched is the table of what else happened. The load's own throughput is in it only if it
// drifted.
func watched(p *page, run *record.Run) {
	t := &table{columns: []column{
		{head: "what", left: true}, {head: "figure", left: true}, {head: "first", priority: 2}, {head: "mean", priority: 3},
		{head: "max", priority: 1}, {head: "last"}, {head: "change", left: true},
	}}
	for i := range run.Watched {
		w := &run.Watched[i]
		name := units.Clean(w.Source)
		for k := range w.Metrics {
			m := &w.Metrics[k]
			if w.Source == watchedLoad && (m.Trend == nil || m.Trend.Verdict != record.TrendDrift) {
				continue
			}
			change, st := changeOf(m)
			t.add(cell{name, plain}, cell{verdict.FigureName(m.Name), plain}, cell{units.Value(m.First, m.Unit), plain}, cell{units.Value(m.Mean, m.Unit), plain},
				cell{units.Value(m.Max, m.Unit), plain}, cell{units.Value(m.Last, m.Unit), plain}, cell{change, st})
			name = ""
		}
		if len(w.Metrics) == 0 {
			t.add(cell{name, plain}, cell{"no samples", plain}, cell{}, cell{}, cell{}, cell{}, cell{units.Clean(w.Trouble), yellow})
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading("WATCHED", "warm-up excluded; counters as rates")
	p.grid(t)
}

// changeOf says what a figure's trend is.
func changeOf(m *record.WatchedMetric) (string, style) {
	t := m.Trend
	if t == nil {
		return "", plain
	}
	switch t.Verdict {
	case record.TrendLeak:
		return "leak: " + verdict.GrowthText(m), red
	case record.TrendDrift:
		return "drift: " + units.Signed(100*t.Share) + " %", yellow
	case record.TrendLevelling:
		return "grew by " + units.Fraction(t.Share) + ", levelling off", dim
	case record.TrendUnjudged:
		return "not judged: " + units.Clean(t.Why), dim
	}
	return "steady", dim
}

// watchedMarkdown is the table of judged figures that change.
func watchedMarkdown(print func(string, ...any), run *record.Run) {
	head := false
	for i := range run.Watched {
		w := &run.Watched[i]
		for k := range w.Metrics {
			m := &w.Metrics[k]
			if m.Trend == nil || w.Source == watchedLoad && m.Trend.Verdict != record.TrendDrift {
				continue
			}
			if !head {
				print("\n| Watched | Figure | First | Max | Last | Change |\n|---|---|---:|---:|---:|---|\n")
				head = true
			}
			change, _ := changeOf(m)
			if v := m.Trend.Verdict; v == record.TrendLeak || v == record.TrendDrift {
				change = "**" + markdownText(change) + "**"
			} else {
				change = markdownText(change)
			}
			print("| %s | %s | %s | %s | %s | %s |\n", markdownText(w.Source), markdownText(verdict.FigureName(m.Name)),
				units.Value(m.First, m.Unit), units.Value(m.Max, m.Unit), units.Value(m.Last, m.Unit), change)
		}
	}
}
