package observe

import (
	"brunt/internal/measure"
	"brunt/internal/record"
)

// loadSource is what the record calls the load itself.
const loadSource = "load"

// drift watches throughput: the operations that succeeded a second, in open loads as a share of
// those offered. Phases differ on purpose, so only the longest is judged.
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

// result is the judgement; ok is false if there is too little to judge.
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
