package observe

import (
	"math"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	// fewestThings and fewestBytes are the least growth over the run that counts as a leak. A few more threads
	// and a few megabytes are normal for a program that adapts to its load.
	fewestThings = 8
	fewestBytes  = 8 << 20
	// shortestLeak is the shortest run, warm-up excluded, in which growth is judged. In a shorter run a
	// service's heap is still reaching its working size: the first collections, connections and threads all
	// look like growth.
	shortestLeak = 3 * time.Minute
)

// fewestSamples is the least number of samples for a judgement: two per batch.
const fewestSamples = 2 * stats.GrowthBatches

// judgeLeak judges whether a figure leaks. It uses the mean of each batch, or the minimum of each batch if
// garbage collections cut the figure back (floor). collections is the number of collections, negative if
// unknown. limit is the latest value, with the figure's unit and limit.
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

// least returns the least growth over the run that counts as a leak, for a figure in the given unit.
func least(unit string) float64 {
	switch unit {
	case Count:
		return fewestThings
	case Bytes:
		return fewestBytes
	}
	return 0
}

// judgeDrift judges whether throughput changed over the run.
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
