// Package hints looks for changes while a load runs: steps of throughput, quantiles and errors, pauses, recoveries.
package hints

import (
	"math"

	"brunt/internal/measure"
)

// Kind is what a change looks like.
type Kind string

// The kinds of change.
const (
	StepUp   Kind = "step-up"
	StepDown Kind = "step-down"
	Pause    Kind = "pause"    // nothing succeeded in an interval, where something did before
	Recovery Kind = "recovery" // the first success after a pause
	StartUp  Kind = "start-up" // the level settled in the first intervals of the load
)

// Metric is what has changed.
type Metric string

// The metrics.
const (
	P99        Metric = "p99"        // of response time, ns
	Throughput Metric = "throughput" // successful operations per second
	Errors     Metric = "errors"     // failed operations, share of those done
	Generator  Metric = "generator"  // the load generator itself stood still, ns
)

// AllOperations is the Operation of a hint about all of them together.
const AllOperations = -1

// Hint is a change that may be worth a look. It is no proof: about one run in ten has one by
// chance.
type Hint struct {
	Interval  int   // Index of the interval that brought it to light
	BeganNs   int64 // since the run's start: start of the interval in which it began, as far as can be told
	Metric    Metric
	Operation int // index as in Interval.Operations, or AllOperations
	Kind      Kind
	From, To  float64 // medians before and after, in the metric's unit
	Ratio     float64 // To ÷ From; +Inf from 0
}

const (
	recentLength   = 5
	guardLength    = 5
	baselineLength = 30
	baselineLeast  = 20  // intervals, before anything but a start-up is reported
	zLimit         = 2.5 // robust standard deviations
	ratioLimit     = 1.15
	errorsLimit    = 0.005 // least change of the share of errors
	startUpEnd     = 10    // intervals; a load whose level changes within them was starting up
)

// Detector looks for changes while a load runs: the median of the last 5 intervals against
// the median of up to 30 before them, flagged if it is off by more than 2.5 robust standard
// deviations (1.4826 × the median absolute deviation, Rousseeuw and Croux 1993) and by more than
// 15 %. The baseline is guarded: the 5 intervals before the recent ones aren't in it, so that a
// change can't hide in it while it grows, and after a hint it begins again at the new level. A
// change of phase begins it again too, since its changes are wanted; throughput of open loads is
// judged by its share of what was offered.
//
// Of steady runs of 300 intervals with independent noise of 10 % about one in eight has a false
// alarm; with autocorrelated noise (0.2) one in four.
//
// Of a load of many operations the first mostFollowed that have a result are followed, next to all of them
// together: each further one would take memory and bring false alarms.
//
// It is not safe for concurrent use, and allocates nothing between hints but for an operation's first result.
type Detector struct {
	all        operationSeries
	each       []*operationSeries // by operation; nil until it has a result. Of a single operation there are none
	followed   int                // of each
	merged     *measure.Histogram
	phase      string
	begun      bool
	firstPhase bool  // the first phase is under way
	longestNs  int64 // of the intervals so far
	own        aftermath
	hints      []Hint
}

// operationSeries is what is followed of one operation.
type operationSeries struct {
	p99, throughput, errors series
	paused                  bool
	before                  float64 // throughput before the pause
}

// mostFollowed is how many operations are followed by themselves.
const mostFollowed = 1000

// New returns a detector for intervals of so many operations.
func New(operations int) *Detector {
	return &Detector{each: make([]*operationSeries, max(operations, 1)), merged: measure.NewHistogram()}
}

// Interval takes the next interval and returns the hints that it gives rise to, valid until the
// next call.
func (c *Detector) Interval(iv *measure.Interval) []Hint {
	c.hints = c.hints[:0]
	if !c.begun || iv.Phase != c.phase {
		c.all.restart(!c.begun)
		for _, s := range c.each {
			if s != nil {
				s.restart(!c.begun)
			}
		}
		c.firstPhase, c.phase, c.begun = !c.begun, iv.Phase, true
	}
	length := iv.EndNs - iv.StartNs
	if length <= 0 || iv.Drain {
		return nil
	}
	if iv.Health.PausedNs > length/10 {
		// What the interval shows is the generator's doing, not the server's.
		c.own = aftermath{untilNs: iv.EndNs + iv.Health.PausedNs, lasts: true}
		c.hint(Hint{Metric: Generator, Operation: AllOperations, Kind: Pause, To: float64(iv.Health.PausedNs),
			Ratio: math.Inf(1)}, iv)
		return c.hints
	}
	if c.own.touches(iv) {
		return nil
	}
	if c.longestNs = max(c.longestNs, length); length < c.longestNs/2 {
		// What is left of an interval where a phase or the run ends has too few samples to compare.
		return nil
	}
	seconds := float64(length) / 1e9
	c.merged.Reset()
	var all measure.Counts
	for i := range iv.Operations {
		o := &iv.Operations[i]
		all.Add(&o.Counts)
		c.merged.Merge(o.Response)
	}
	expected := 1.0
	if iv.Offered > 0 {
		expected = float64(iv.Offered) / seconds
	}
	c.follow(&c.all, iv, AllOperations, &all, c.merged, seconds, expected)
	if c.each = append(c.each, make([]*operationSeries, max(0, len(iv.Operations)-len(c.each)))...); len(c.each) > 1 {
		for i := range iv.Operations {
			o := &iv.Operations[i]
			if s := c.of(i, o.Done); s != nil {
				c.follow(s, iv, i, &o.Counts, o.Response, seconds, expected)
			}
		}
	}
	return c.hints
}

// of is what is followed of an operation that had so many results, nil if it isn't followed.
func (c *Detector) of(operation int, done uint64) *operationSeries {
	s := c.each[operation]
	if s == nil && done > 0 && c.followed < mostFollowed {
		s = &operationSeries{}
		s.restart(c.firstPhase)
		c.each[operation] = s
		c.followed++
	}
	return s
}

// aftermath finds the intervals after a standstill of the generator that show its doing too: the next
// one, where late requests may still end, and further ones while arrivals of that time wait, for as long
// again as it stood still at most.
type aftermath struct {
	untilNs int64
	lasts   bool
}

// touches takes the next interval.
func (a *aftermath) touches(iv *measure.Interval) bool {
	touched := a.lasts
	a.lasts = touched && iv.Backlog > 0 && iv.EndNs < a.untilNs
	return touched
}

func (c *Detector) hint(h Hint, iv *measure.Interval) {
	h.Interval = iv.Index
	if h.BeganNs == 0 {
		h.BeganNs = iv.StartNs
	}
	c.hints = append(c.hints, h)
}

// follow takes one operation's figures. Throughput is followed as a share of expected per second.
func (c *Detector) follow(s *operationSeries, iv *measure.Interval, operation int, n *measure.Counts,
	response *measure.Histogram, seconds, expected float64) {
	rate := float64(n.OK()) / seconds
	if s.pause(rate, iv.Backlog > 0 || n.Done > 0 || iv.Offered == 0) {
		if rate > 0 {
			c.hint(Hint{Metric: Throughput, Operation: operation, Kind: Recovery, To: rate, Ratio: math.Inf(1)}, iv)
			s.paused = false
		} else if !s.paused {
			c.hint(Hint{Metric: Throughput, Operation: operation, Kind: Pause, From: s.before}, iv)
			s.paused = true
		}
		return
	}
	if rate > 0 {
		s.before = rate
		if change, ok := s.throughput.add(math.Log(rate/expected), iv.StartNs, logRule{}); ok {
			c.step(iv, Throughput, operation, change, math.Exp(change.from)*expected, math.Exp(change.to)*expected)
		}
		if change, ok := s.p99.add(math.Log(float64(max(response.Quantile(0.99), 1))), iv.StartNs, logRule{}); ok {
			c.step(iv, P99, operation, change, math.Exp(change.from), math.Exp(change.to))
		}
	}
	if n.Done > 0 {
		if change, ok := s.errors.add(float64(n.Failed())/float64(n.Done), iv.StartNs, shareRule{n.Done}); ok {
			c.step(iv, Errors, operation, change, change.from, change.to)
		}
	}
}

// pause reports whether the interval belongs to a pause, its first success included. wanted says
// whether anything was to be done.
func (s *operationSeries) pause(rate float64, wanted bool) bool {
	const fewest = 5 // per second; rarer operations may be absent by chance
	return s.paused || rate == 0 && wanted && s.before >= fewest
}

// step tells a change; from and to are its levels in the metric's unit.
func (c *Detector) step(iv *measure.Interval, metric Metric, operation int, found change, from, to float64) {
	kind := StepUp
	switch {
	case found.startUp:
		kind = StartUp
	case to < from:
		kind = StepDown
	}
	c.hint(Hint{Metric: metric, Operation: operation, Kind: kind, BeganNs: found.beganNs, From: from, To: to,
		Ratio: to / from}, iv)
}

func (s *operationSeries) restart(first bool) {
	s.paused = false
	s.before = 0
	for _, one := range [...]*series{&s.p99, &s.throughput, &s.errors} {
		*one = series{first: first}
	}
}
