package trend

import (
	"sync"

	"go.k6.io/k6/v2/metrics"
)

// Keeper counts the values of all Trends, and keeps them from k6's own sinks once there are many.
type Keeper struct {
	mu     sync.Mutex
	trends map[*metrics.Metric]*kept
}

// kept is a Trend and those of its values that have certain tags.
type kept struct {
	metric *metrics.Metric
	tags   *metrics.TagSet // nil for all values
	sketch sketch
	filled uint64 // values that its sink was last filled from
	parts  []*kept
}

// NewKeeper returns a keeper of no Trends yet.
func NewKeeper() *Keeper { return &Keeper{trends: map[*metrics.Metric]*kept{}} }

// Keep counts a sample of a Trend, and reports whether k6 needs it itself.
func (k *Keeper) Keep(s *metrics.Sample) (needed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.trends[s.Metric]
	if t == nil {
		t = &kept{metric: s.Metric}
		for _, sub := range s.Metric.Submetrics {
			t.parts = append(t.parts, &kept{metric: sub.Metric, tags: sub.Tags})
		}
		k.trends[s.Metric] = t
	}
	t.sketch.add(s.Value)
	needed = !t.full()
	for _, p := range t.parts {
		if s.Tags.Contains(p.tags) {
			p.sketch.add(s.Value)
			// k6 shows what it has seen once.
			needed = needed || p.sketch.n == 1
		}
	}
	return needed
}

// full reports whether k6's sink no longer gets the values.
func (t *kept) full() bool { return t.sketch.n > Points }

// Fill brings k6's sinks up to date: those with thresholds, or all. It must be called where k6's own
// ingestion of samples is, or is over.
func (k *Keeper) Fill(all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.trends {
		if !t.full() {
			continue
		}
		t.fill(all)
		for _, p := range t.parts {
			p.fill(all)
		}
	}
}

func (t *kept) fill(all bool) {
	sink, ok := t.metric.Sink.(*metrics.TrendSink)
	if !ok || !all && len(t.metric.Thresholds.Thresholds) == 0 {
		return
	}
	// k6 may have been on its way to add a value that it was left.
	if t.sketch.n == t.filled && sink.Count() == min(t.sketch.n, Points) {
		return
	}
	t.filled = t.sketch.n
	Fill(sink, Distribution{N: t.sketch.n, Min: t.sketch.min, Max: t.sketch.max, Sum: t.sketch.sum, Each: t.sketch.each})
}
