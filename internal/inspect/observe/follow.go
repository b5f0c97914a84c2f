package observe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"brunt/internal/base/suggest"
)

// Find returns the metric of a source by name. The error of an unknown name suggests similar ones. Find samples
// the source once.
func Find(s Source, name string) (Metric, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	values, err := s.Sample(ctx)
	if err != nil {
		return Metric{}, fmt.Errorf("%s can't be watched: %w", s.Name(), err)
	}
	var names []string
	for _, v := range values {
		if v.Name == name {
			return v.Metric, nil
		}
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return Metric{}, fmt.Errorf("%s has no metric %q: %s", s.Name(), name, suggest.DidYouMean(name, names))
}

// Follower keeps the latest value of one metric of a source. For a counter this is its increase per second.
type Follower struct {
	source Source
	metric string
	value  atomic.Uint64 // bits of a float64
}

// NewFollower returns a follower of a source's metric. Its value is NaN until Run has sampled the source.
func NewFollower(s Source, metric string) *Follower {
	f := &Follower{source: s, metric: metric}
	f.value.Store(math.Float64bits(math.NaN()))
	return f
}

// Value returns the latest value, or NaN if there is none or the last sample failed. It is safe for concurrent
// use.
func (f *Follower) Value() float64 { return math.Float64frombits(f.value.Load()) }

// Run samples the source once per period until ctx ends.
func (f *Follower) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last Value
	var lastAt time.Time
	for ctx.Err() == nil {
		now, known := math.NaN(), false
		bounded, cancel := context.WithTimeout(ctx, min(sampleTimeout, every))
		values, err := f.source.Sample(bounded)
		cancel()
		at := time.Now()
		i := slices.IndexFunc(values, func(v Value) bool { return v.Name == f.metric })
		if err == nil && i >= 0 {
			v := values[i]
			if known = !v.Counter || !lastAt.IsZero() && v.Value >= last.Value; known {
				now = v.Value
			}
			if known && v.Counter {
				now = (v.Value - last.Value) / at.Sub(lastAt).Seconds()
			}
			last, lastAt = v, at
		}
		f.value.Store(math.Float64bits(now))
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
