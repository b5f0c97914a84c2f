package confidence

import (
	"math"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The ids of warnings about a load whose figures change over its time.
const (
	WarnWarmUp   = "warm-up-seen"
	WarnUnsteady = "not-steady"
)

// The warm-up that is worth a warning: its smallest share of the run, and the smallest relative difference between its
// mean and that of the rest.
const (
	beginningLeast = 0.05
	beginningApart = 0.05
)

// mostPoints is the maximum number of points of a course. It must be even.
const mostPoints = 20_000

// course is the series of rates and p99 of a load: a point per interval or, in a long run, per 2, 4, 8 … intervals.
type course struct {
	phase       string // "" before the first interval
	mixed       bool   // several phases, which differ intentionally
	endsNs      []int64
	rates, tail []float64
	intervals   int // number of intervals per point; 0 means 1
	open        int // number of intervals in the last point; 0 if it is full
}

func (c *course) add(iv *measure.Interval) {
	if c.phase != "" && c.phase != iv.Phase {
		c.mixed = true
	}
	c.phase = iv.Phase
	all := iv.Totals()
	p99 := iv.Response().Quantile(0.99)
	// Neither the drain nor an interval without answers shows how the load behaves.
	if p99 <= 0 || iv.Drain {
		return
	}
	rate, tail := float64(all.OK())/(float64(iv.LoadNs)/1e9), math.Log(float64(p99))
	if n := len(c.rates) - 1; c.open > 0 {
		c.open++
		c.endsNs[n] = iv.EndNs
		c.rates[n] += (rate - c.rates[n]) / float64(c.open)
		c.tail[n] += (tail - c.tail[n]) / float64(c.open)
	} else {
		if len(c.rates) == mostPoints {
			c.halve()
		}
		c.open = 1
		c.endsNs, c.rates, c.tail = append(c.endsNs, iv.EndNs), append(c.rates, rate), append(c.tail, tail)
	}
	if c.open >= c.intervals {
		c.open = 0
	}
}

// halve merges pairs of points.
func (c *course) halve() {
	c.intervals = max(c.intervals, 1) * 2
	for k := range mostPoints / 2 {
		c.endsNs[k] = c.endsNs[2*k+1]
		c.rates[k] = (c.rates[2*k] + c.rates[2*k+1]) / 2
		c.tail[k] = (c.tail[2*k] + c.tail[2*k+1]) / 2
	}
	c.endsNs, c.rates, c.tail = c.endsNs[:mostPoints/2], c.rates[:mostPoints/2], c.tail[:mostPoints/2]
}

// warnings returns a warning that says how long the load took to become steady, or that it didn't, if that matters. It
// applies MSER-5 to the rate and to the logarithm of the p99 of response time, and takes the later end.
func (c *course) warnings() (out []record.Warning) {
	if c.mixed || len(c.rates) == 0 {
		return nil
	}
	worst, steady := 0, true
	for _, series := range [][]float64{c.rates, c.tail} {
		cut, rests := stats.MSER5(series)
		if apart(series, cut, &series[0] == &c.tail[0]) {
			worst, steady = max(worst, cut), steady && rests
		}
	}
	switch {
	case !steady:
		return []record.Warning{record.NewWarning(WarnUnsteady)}
	case float64(worst) > beginningLeast*float64(len(c.rates)):
		return []record.Warning{record.NewWarning(WarnWarmUp, message.Span("until", time.Duration(c.endsNs[worst-1])))}
	}
	return nil
}

// apart reports whether the mean of the first n values differs enough from that of the others. logarithms means that v
// holds logarithms.
func apart(v []float64, n int, logarithms bool) bool {
	if n == 0 || n >= len(v) {
		return n > 0
	}
	mean := func(v []float64) float64 { return stats.BatchMeans(v, 1)[0] }
	a, b := mean(v[:n]), mean(v[n:])
	if logarithms {
		a, b = math.Exp(a), math.Exp(b)
	}
	return math.Abs(a-b) > beginningApart*math.Abs(b)
}
