package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/record"
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
		name := clean(w.Source)
		for k := range w.Metrics {
			m := &w.Metrics[k]
			if w.Source == watchedLoad && (m.Trend == nil || m.Trend.Verdict != record.TrendDrift) {
				continue
			}
			change, st := changeOf(m)
			t.add(cell{name, plain}, cell{figureName(m.Name), plain}, cell{figure(m.First, m.Unit), plain}, cell{figure(m.Mean, m.Unit), plain},
				cell{figure(m.Max, m.Unit), plain}, cell{figure(m.Last, m.Unit), plain}, cell{change, st})
			name = ""
		}
		if len(w.Metrics) == 0 {
			t.add(cell{name, plain}, cell{"no samples", plain}, cell{}, cell{}, cell{}, cell{}, cell{clean(w.Trouble), yellow})
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
		return "leak: " + leakText(m), red
	case record.TrendDrift:
		return "drift: " + signed(100*t.Share) + " %", yellow
	case record.TrendLevelling:
		return "grew by " + fraction(t.Share) + ", levelling off", dim
	case record.TrendUnjudged:
		return "not judged: " + clean(t.Why), dim
	}
	return "steady", dim
}

// leakText is how fast a figure grows and what that comes to.
func leakText(m *record.WatchedMetric) string {
	t := m.Trend
	s := signed(t.PerHour) + "/h"
	if m.Unit == "bytes" {
		s = "+" + size(uint64(max(t.PerHour, 0))) + "/h"
	}
	if t.Limit > 0 && t.HoursToLimit > 0 {
		s += fmt.Sprintf(", %s to %s (%s)", span(hours(t.HoursToLimit)), figure(t.Limit, m.Unit), clean(t.LimitName))
	}
	return s
}

// hours is a time that may be longer than a time.Duration can be.
func hours(h float64) time.Duration {
	return time.Duration(min(h*float64(time.Hour), math.MaxInt64/2))
}

func signed(x float64) string {
	if x < 0 {
		return "−" + digits3(-x)
	}
	return "+" + digits3(x)
}

// figure writes a number in the unit of a watched metric.
func figure(v float64, unit string) string {
	switch unit {
	case "bytes":
		return size(uint64(max(v, 0)))
	case "seconds":
		return latency(v * 1e9)
	case "share":
		return fraction(v)
	case "per_s":
		return digits3(v) + "/s"
	case "count":
		if v == math.Trunc(v) && v >= 0 {
			return count(uint64(v))
		}
	}
	return digits3(v)
}

// figureName is a watched metric's name without its unit.
func figureName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(clean(name), "_bytes"), "_seconds")
	switch name {
	case "rss":
		return "resident memory"
	case "cpu":
		return "CPU cores"
	case "gc_cycles":
		return "collections"
	case "gc_pause":
		return "time in collections"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// assessWatched warns of leaks and of throughput that drifts.
func assessWatched(run *record.Run) (out []record.Warning) {
	for i := range run.Watched {
		w := &run.Watched[i]
		for k := range w.Metrics {
			m := &w.Metrics[k]
			if m.Trend == nil {
				continue
			}
			switch m.Trend.Verdict {
			case record.TrendLeak:
				out = append(out, warning(WarnLeak, "run longer to be sure, and look at what it keeps",
					"%s: %s grew steadily from %s to %s: %s", clean(w.Source), figureName(m.Name), figure(m.First, m.Unit), figure(m.Last, m.Unit), leakText(m)))
			case record.TrendDrift:
				out = append(out, warning(WarnDrift, "run longer, or find out what changes, before you compare this run with others",
					"throughput changed by %s %% over the run", signed(100*m.Trend.Share)))
			}
		}
	}
	return out
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
			print("| %s | %s | %s | %s | %s | %s |\n", markdownText(w.Source), markdownText(figureName(m.Name)),
				figure(m.First, m.Unit), figure(m.Max, m.Unit), figure(m.Last, m.Unit), change)
		}
	}
}
