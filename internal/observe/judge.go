package observe

import (
	"fmt"

	"brunt/internal/record"
	"brunt/internal/stats"
)

// fewestThings is by how many a count must grow to be a leak: one or two more, such as a further
// thread, are steps that everything takes.
const fewestThings = 3

// fewestSamples is how many a judgement needs: two a batch.
const fewestSamples = 2 * stats.GrowthBatches

// judgeLeak says whether a figure leaks: by its means, or, if garbage collections cut it back, by
// the least value of each batch. collections is how many there were; negative if unknown.
func judgeLeak(s *series, seconds float64, floor bool, collections float64, limit Value) *record.Trend {
	batches := stats.BatchMeans(s.means(), stats.GrowthBatches)
	if floor {
		if collections >= 0 && collections < stats.GrowthBatches {
			return unjudged(fmt.Sprintf("%.0f garbage collections; %d are needed to see the heap's floor", collections, stats.GrowthBatches))
		}
		batches = stats.BatchMinima(s.minima(), stats.GrowthBatches)
	}
	if s.all.n < fewestSamples || seconds <= 0 {
		return unjudged(fmt.Sprintf("%d samples; %d are needed", s.all.n, fewestSamples))
	}
	g := stats.GrowthOf(batches)
	t := trend(g, seconds)
	t.Limit, t.LimitName = limit.Limit, limit.LimitName
	switch {
	case !g.Grows(), limit.Unit == Count && g.Slope*stats.GrowthBatches < fewestThings:
		return t
	case g.Levels(), stats.GrowthOf(stats.BatchMedians(s.means(), stats.GrowthBatches)).Steps():
		t.Verdict = record.TrendLevelling
		return t
	}
	t.Verdict = record.TrendLeak
	if room := t.Limit - s.last; t.Limit > 0 && t.PerHour > 0 {
		t.HoursToLimit = max(room, 0) / t.PerHour
	}
	return t
}

// judgeDrift says whether throughput changes over the run.
func judgeDrift(s *series, seconds float64) *record.Trend {
	if s.all.n < fewestSamples || seconds <= 0 {
		return unjudged(fmt.Sprintf("%d intervals; %d are needed", s.all.n, fewestSamples))
	}
	g := stats.GrowthOf(stats.BatchMeans(s.means(), stats.GrowthBatches))
	t := trend(g, seconds)
	if g.Grows() || g.Shrinks() {
		t.Verdict = record.TrendDrift
	}
	return t
}

func trend(g stats.Growth, seconds float64) *record.Trend {
	return &record.Trend{
		Verdict: record.TrendSteady, P: g.P, Share: g.Share,
		PerHour: g.Slope * stats.GrowthBatches / seconds * 3600,
	}
}

func unjudged(why string) *record.Trend {
	return &record.Trend{Verdict: record.TrendUnjudged, Why: "only " + why}
}
