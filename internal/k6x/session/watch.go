//go:build !nok6

package session

import (
	"time"

	"brunt/internal/observe"
	"brunt/internal/record"
)

// startWatching begins to sample the script's own figures and this machine, once an interval. c.mu is held.
func (c *cutter) startWatching() {
	var sources []observe.Source
	if host, err := observe.NewHost(); err == nil {
		sources = append(sources, host)
	}
	c.s.mu.Lock()
	if c.s.figures != nil {
		sources = append(sources, c.s.figures)
	}
	dir, fsys := c.s.bundle.Dir, record.FS(record.OS{})
	c.s.mu.Unlock()
	if c.s.o.None {
		fsys = record.Nowhere{}
	}
	c.watch = observe.NewWatcher(sources, time.Now)
	if err := c.watch.Start(fsys, dir); err != nil {
		c.s.warn(record.Warning{ID: "watch-record", Text: err.Error()})
	}
	c.sinks = append(c.sinks, c.watch)
}

// watched ends the watching and puts what was seen into the record. whole is what the script's figures were
// over the whole run.
func (s *Session) watched(run *record.Run, whole *record.Watched) {
	var all []record.Watched
	if w := s.cutter.watch; w != nil {
		var warnings []record.Warning
		all, warnings = w.Finish()
		run.Warnings = append(run.Warnings, warnings...)
	}
	for i := range all {
		if w := &all[i]; w.Source == whole.Source {
			whole.File, whole.Samples, whole.Missed = w.File, w.Samples, w.Missed
			overTime(whole.Metrics, w)
		} else {
			run.Watched = append(run.Watched, *w)
		}
	}
	if len(whole.Metrics) > 0 {
		run.Watched = append(run.Watched, *whole)
	}
}

// overTime adds to figures of the whole run what their samples say: the first and the last, and the extremes
// of shares. Counters stay sums.
func overTime(whole []record.WatchedMetric, sampled *record.Watched) {
	for i := range whole {
		m := &whole[i]
		seen := sampled.Metric(m.Name)
		if seen.Name == "" || seen.Unit != m.Unit {
			continue
		}
		m.First, m.Last = seen.First, seen.Last
		if m.Unit == observe.Share {
			m.Min, m.Max = min(seen.Min, m.Mean), max(seen.Max, m.Mean)
		}
	}
}
