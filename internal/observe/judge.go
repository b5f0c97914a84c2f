package observe

import (
	"math"
	"time"

	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/stats"
)

const (
	// fewestThings and fewestBytes are by how much a figure must grow over the run to be a leak: some more
	// threads and some megabytes are what everything takes that finds its size under load.
	fewestThings = 8
	fewestBytes  = 8 << 20
	// shortestLeak is the shortest run, warm-up excluded, that growth is judged in. Until then a
	// service's heap is finding its size: the first collections, connections and threads are all growth.
	shortestLeak = 3 * time.Minute
)

// fewestSamples is how many a judgement needs: two a batch.
const fewestSamples = 2 * stats.GrowthBatches

// judgeLeak says whether a figure leaks: by its means, or, if garbage collections cut it back, by
// the least value of each batch. collections is how many there were; negative if unknown.
func judgeLeak(s *series, seconds float64, floor bool, collections float64, limit Value) *record.Trend {
	batches := stats.BatchMeans(s.means(), stats.GrowthBatches)
	if floor {
		if collections >= 0 && collections < stats.GrowthBatches {
			return unjudged(message.New("trend.few-collections", message.Figure("n", collections, "count"),
				message.Count("needed", stats.GrowthBatches)))
		}
		batches = stats.BatchMinima(s.minima(), stats.GrowthBatches)
	}
	if s.all.n < fewestSamples || seconds <= 0 {
		return unjudged(message.New("trend.few-samples", message.Count("n", s.all.n), message.Count("needed", fewestSamples)))
	}
	if seconds < shortestLeak.Seconds() {
		return unjudged(message.New("trend.too-short", message.Figure("lasted", math.Round(seconds), "count"),
			message.Figure("needed", shortestLeak.Seconds(), "count")))
	}
	g := stats.GrowthOf(batches)
	t := trend(g, seconds)
	t.Limit, t.LimitName = limit.Limit, limit.LimitName
	switch {
	case !g.Grows(), g.Slope*stats.GrowthBatches < least(limit.Unit):
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

// least is by how much a figure in a unit must grow to be a leak.
func least(unit string) float64 {
	switch unit {
	case Count:
		return fewestThings
	case Bytes:
		return fewestBytes
	}
	return 0
}

// judgeDrift says whether throughput changes over the run.
func judgeDrift(s *series, seconds float64) *record.Trend {
	if s.all.n < fewestSamples || seconds <= 0 {
		return unjudged(message.New("trend.few-intervals", message.Count("n", s.all.n),
			message.Count("needed", fewestSamples)))
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

func unjudged(why message.Message) *record.Trend {
	return &record.Trend{Verdict: record.TrendUnjudged, Why: why}
}
