package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
)

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
					"%s: %s grew steadily from %s to %s: %s", w.Source, FigureName(m.Name), units.Value(m.First, m.Unit), units.Value(m.Last, m.Unit), GrowthText(m)))
			case record.TrendDrift:
				out = append(out, warning(WarnDrift, "run longer, or find out what changes, before you compare this run with others",
					"throughput changed by %s %% over the run", units.Signed(100*m.Trend.Share)))
			}
		}
	}
	return out
}

// GrowthText is how fast a figure grows and what that comes to.
func GrowthText(m *record.WatchedMetric) string {
	t := m.Trend
	s := units.Signed(t.PerHour) + "/h"
	if m.Unit == "bytes" {
		s = "+" + units.Size(uint64(max(t.PerHour, 0))) + "/h"
	}
	if t.Limit > 0 && t.HoursToLimit > 0 {
		s += fmt.Sprintf(", %s to %s (%s)", units.Span(hours(t.HoursToLimit)), units.Value(t.Limit, m.Unit), units.Clean(t.LimitName))
	}
	return s
}

// hours is a time that may be longer than a time.Duration can be.
func hours(h float64) time.Duration {
	return time.Duration(min(h*float64(time.Hour), math.MaxInt64/2))
}

// FigureName is a watched metric's name without its unit.
func FigureName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(units.Clean(name), "_bytes"), "_seconds")
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
