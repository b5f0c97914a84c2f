package observe

import (
	"brunt/internal/measure"
	"brunt/internal/record"
)

// mostPoints bounds the memory of a series; a run may last for days.
const mostPoints = 4096

// point summarizes one or more consecutive samples.
type point struct {
	n        uint64
	sum      float64
	min, max float64
}

func (p point) mean() float64 { return p.sum / float64(p.n) }

func (p point) with(o point) point {
	return point{p.n + o.n, p.sum + o.sum, min(p.min, o.min), max(p.max, o.max)}
}

// series is a figure over time in constant memory. When it is full, neighbouring points are merged in pairs,
// keeping their sums and extremes, and each new point covers twice as many samples.
type series struct {
	points      []point
	per         uint64 // samples in a complete point
	all         point
	first, last float64
}

// note updates the totals with a value, without adding it to the points.
func (s *series) note(v float64) {
	one := point{1, v, v, v}
	if s.all.n == 0 {
		s.first, s.all, s.per = v, one, 1
	} else {
		s.all = s.all.with(one)
	}
	s.last = v
}

func (s *series) add(v float64) {
	s.note(v)
	one := point{1, v, v, v}
	if n := len(s.points); n > 0 && s.points[n-1].n < s.per {
		s.points[n-1] = s.points[n-1].with(one)
		return
	}
	if len(s.points) == mostPoints {
		for i := range mostPoints / 2 {
			s.points[i] = s.points[2*i].with(s.points[2*i+1])
		}
		s.points = s.points[:mostPoints/2]
		s.per *= 2
	}
	s.points = append(s.points, one)
}

func (s *series) means() []float64 {
	return s.each(func(p point) float64 { return p.mean() })
}

func (s *series) minima() []float64 {
	return s.each(func(p point) float64 { return p.min })
}

func (s *series) each(f func(point) float64) []float64 {
	out := make([]float64, len(s.points))
	for i, p := range s.points {
		out[i] = f(p)
	}
	return out
}

// figure is one metric of a source over the run.
type figure struct {
	series
	last     Value
	seen     bool
	increase float64 // total increase of a counter, warm-up excluded
}

func (s *watched) figure(m Metric) *figure {
	for _, f := range s.figures {
		if f.last.Name == m.Name {
			return f
		}
	}
	f := &figure{last: Value{Metric: m}}
	s.figures = append(s.figures, f)
	return f
}

// add records a value; seconds is the time since the previous one. A counter that has fallen was reset, so that
// step is skipped.
func (f *figure) add(v Value, seconds float64, warmUp bool) {
	before, seen := f.last.Value, f.seen
	f.last, f.seen = v, true
	if !v.Counter {
		switch {
		case warmUp:
		case v.Leak:
			f.series.add(v.Value)
		default:
			f.series.note(v.Value)
		}
		return
	}
	if !seen || warmUp || v.Value < before || seconds <= 0 {
		return
	}
	f.increase += v.Value - before
	f.series.note((v.Value - before) / seconds)
}

// result summarizes what was observed of a source and closes its file.
func (s *watched) result() (record.Watched, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := record.Watched{
		Source: s.source.Name(), File: s.name, Samples: s.samples, Missed: s.missed,
		Trouble: s.trouble, GoneNs: s.goneNs, Metrics: []record.WatchedMetric{},
	}
	seconds := s.seconds()
	for _, f := range s.figures {
		if f.all.n == 0 || f.all.min == 0 && f.all.max == 0 && !f.last.Leak {
			continue
		}
		m := f.summary()
		if f.last.Leak {
			m.Trend = judgeLeak(&f.series, seconds, f.last.Floor != "", s.collections(f.last.Floor), f.last)
		}
		out.Metrics = append(out.Metrics, m)
	}
	if s.log == nil {
		return out, nil
	}
	return out, s.log.close()
}

// seconds returns the time that the samples cover: n samples span n−1 periods, so one period is added.
func (s *watched) seconds() float64 {
	seconds := float64(s.toNs-s.fromNs) / 1e9
	for _, f := range s.figures {
		if n := float64(f.all.n); !f.last.Counter && n > 1 {
			return seconds * n / (n - 1)
		}
	}
	return seconds
}

func (s *watched) collections(counter string) float64 {
	for _, f := range s.figures {
		if f.last.Name == counter && f.seen {
			return f.increase
		}
	}
	return -1
}

func (f *figure) summary() record.WatchedMetric {
	m := record.WatchedMetric{
		Name: f.last.Name, Unit: f.last.Unit, First: f.first, Last: f.series.last,
		Min: f.all.min, Mean: f.all.mean(), Max: f.all.max,
	}
	if f.last.Counter {
		switch m.Unit = "per_s"; f.last.Unit {
		case Seconds:
			m.Unit = "share"
		case CoreSeconds:
			m.Unit = "cores"
		}
	}
	return m
}

// loadSource is the name of the load itself in the record.
const loadSource = "load"

// drift watches throughput: successful operations per second, or in an open load their share of the offered
// operations. Phases differ by design, so only the longest one is judged.
type drift struct {
	longest, current driftPhase
}

type driftPhase struct {
	name    string
	open    bool
	seconds float64
	series
}

func (d *drift) add(iv *measure.Interval) {
	seconds := float64(iv.EndNs-iv.StartNs) / 1e9
	if iv.WarmUp || seconds <= 0 || iv.Health.PausedNs > (iv.EndNs-iv.StartNs)/10 {
		return
	}
	var ok uint64
	for i := range iv.Operations {
		ok += iv.Operations[i].OK()
	}
	if d.current.name != iv.Phase {
		d.keep()
		d.current = driftPhase{name: iv.Phase, open: iv.Offered > 0}
	}
	c := &d.current
	switch {
	case c.open && iv.Offered > 0:
		c.series.add(float64(ok) / float64(iv.Offered))
	case !c.open:
		c.series.add(float64(ok) / seconds)
	}
	c.seconds += seconds
}

func (d *drift) keep() {
	if d.current.seconds > d.longest.seconds {
		d.longest = d.current
	}
}

// result returns the judgement of the longest phase. ok is false if there are too few samples to judge.
func (d *drift) result() (w record.Watched, ok bool) {
	d.keep()
	s := &d.longest
	if s.all.n < fewestSamples || s.all.max == 0 {
		return w, false
	}
	m := record.WatchedMetric{
		Name: "throughput", Unit: "per_s", First: s.first, Last: s.last,
		Min: s.all.min, Mean: s.all.mean(), Max: s.all.max, Trend: judgeDrift(&s.series, s.seconds),
	}
	if s.open {
		m.Name, m.Unit = "throughput_of_offered", "share"
	}
	return record.Watched{Source: loadSource, Samples: s.all.n, Metrics: []record.WatchedMetric{m}}, true
}
