package observe

import (
	"brunt/internal/record"
)

// figure is one metric of a source over the run.
type figure struct {
	series
	last     Value
	seen     bool
	increase float64 // of a counter, warm-up excluded
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

// add takes a value; seconds is the time since the one before. A counter that falls began anew.
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

// result sums up what was seen of a source.
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

// seconds is the time that the samples stand for.
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
