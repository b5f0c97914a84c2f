// Package hints looks for changes while a load runs: steps of throughput, quantiles and errors, pauses, recoveries.
package hints

import (
	"math"

	"brunt/internal/measure"
)

// Kind classifies a change.
type Kind string

// The kinds of change.
const (
	StepUp   Kind = "step-up"
	StepDown Kind = "step-down"
	Pause    Kind = "pause"    // no operation succeeded in an interval, although some did before
	Recovery Kind = "recovery" // first success after a pause
	StartUp  Kind = "start-up" // the level settled within the first intervals of the load
	Periodic Kind = "periodic" // standstills recur: From is their period, and To the response times in them, both in ns
)

// Metric is the figure that changed.
type Metric string

// The metrics.
const (
	P99        Metric = "p99"        // response time in ns
	Throughput Metric = "throughput" // successful operations per second
	Errors     Metric = "errors"     // failed operations as a share of all
	Generator  Metric = "generator"  // standstill of the load generator itself, in ns
)

// AllOperations is the Operation of a hint about all operations together.
const AllOperations = -1

// Hint is a change that may deserve attention. It isn't proof: about one run in ten has a hint by chance.
type Hint struct {
	Interval  int   // index of the interval that revealed it
	BeganNs   int64 // estimated start of the change: start of an interval, ns since the run's start
	Metric    Metric
	Operation int // index as in Interval.Operations, or AllOperations
	Kind      Kind
	From, To  float64 // medians before and after, in the metric's unit
	Ratio     float64 // To ÷ From; +Inf if From is 0
}

const (
	recentLength   = 5
	guardLength    = 5
	baselineLength = 30
	baselineLeast  = 20  // intervals that are needed before a change other than a start-up is reported
	zLimit         = 2.5 // robust standard deviations
	ratioLimit     = 1.15
	errorsLimit    = 0.005 // smallest change of the share of errors
	startUpEnd     = 10    // intervals; a change within the first ones counts as start-up
)

// Detector finds changes while a load runs. It compares the median of the last 5 intervals with the median of the
// baseline: up to 30 intervals before them. A difference is a change if it exceeds 2.5 robust standard deviations
// (1.4826 × the median absolute deviation, Rousseeuw and Croux 1993) and 15 %. The 5 intervals between the recent
// ones and the baseline belong to neither, so that a gradual change doesn't shift its own baseline. After a hint
// the baseline starts again at the new level. It also starts again with each phase, since changes between phases
// are intended. Throughput of open loads is judged as a share of the offered rate.
//
// If several operations are followed, a change must be clearer, so that the chance of a false alarm stays the same for the
// whole run; and the noise of a rate isn't assumed to be less than that of as many random arrivals.
//
// About one in eight steady runs of 300 intervals with independent noise of 10 % has a false alarm; with
// autocorrelated noise (0.2) it is one in four.
//
// In addition to all operations together, the first mostFollowed operations that have a result are followed one by
// one. More would take memory and increase the number of false alarms.
//
// A Detector is not safe for concurrent use. It only allocates memory for hints and at an operation's first result.
type Detector struct {
	all        operationSeries
	each       []*operationSeries // by operation; nil until its first result; stays nil if there is only one operation
	followed   int                // how many elements of each aren't nil
	merged     *measure.Histogram
	phase      string
	begun      bool
	firstPhase bool  // the first phase is under way
	longestNs  int64 // length of the longest interval so far
	own        aftermath
	stalls     stalls
	hints      []Hint
}

// operationSeries is the state of one followed operation, or of all together.
type operationSeries struct {
	p99, throughput, errors series
	paused                  bool
	before                  float64 // throughput before the pause
	usual                   float64 // mean throughput, exponentially weighted
	known                   int     // intervals that usual is the mean of
	events                  float64 // successes in them
	quiet                   float64 // seconds since the last success, as far as operations were to be sent
	quietNs                 int64   // when that began
}

// mostFollowed is how many operations are followed one by one.
const mostFollowed = 1000

// New returns a detector for intervals with the given number of operations.
func New(operations int) *Detector {
	return &Detector{each: make([]*operationSeries, max(operations, 1)), merged: measure.NewHistogram()}
}

// Interval processes the next interval and returns the resulting hints, which are valid until the next call.
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
		c.stalls = stalls{}
	}
	length := iv.EndNs - iv.StartNs
	if length <= 0 || iv.Drain {
		return nil
	}
	if iv.Health.PausedNs > length/10 {
		// The interval shows the effect of the generator, not of the server.
		c.own = aftermath{untilNs: iv.EndNs + iv.Health.PausedNs, lasts: true}
		c.hint(Hint{Metric: Generator, Operation: AllOperations, Kind: Pause, To: float64(iv.Health.PausedNs),
			Ratio: math.Inf(1)}, iv)
		return c.hints
	}
	if c.own.touches(iv) {
		return nil
	}
	if c.longestNs = max(c.longestNs, length); length < c.longestNs/2 {
		// The rest of an interval at the end of a phase or of the run has too few samples to compare.
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
	c.recurring(iv, length)
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

// of returns the series of an operation that had done results in this interval, or nil if it isn't followed.
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

// aftermath finds the intervals after a standstill of the generator that still show its effect: the next interval,
// in which late requests may still end, and the following ones while a backlog remains, for at most as long as the
// standstill lasted.
type aftermath struct {
	untilNs int64
	lasts   bool
}

// touches processes the next interval. It reports whether the interval shows the effect of the standstill.
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

// follow processes the figures of one operation. Throughput is followed as a share of expected, a rate per second.
func (c *Detector) follow(s *operationSeries, iv *measure.Interval, operation int, n *measure.Counts,
	response *measure.Histogram, seconds, expected float64) {
	rate := float64(n.OK()) / seconds
	if s.pause(rate, seconds, iv.StartNs, iv.Backlog > 0 || n.Done > 0 || iv.Offered == 0) {
		if rate > 0 {
			c.told(Hint{Metric: Throughput, Operation: operation, Kind: Recovery, To: rate, Ratio: math.Inf(1)}, iv)
			s.paused = false
		} else if !s.paused {
			c.told(Hint{Metric: Throughput, Operation: operation, Kind: Pause, BeganNs: s.quietNs, From: s.before}, iv)
			s.paused = true
		}
		return
	}
	more := c.multiplicity()
	if rate > 0 {
		s.before = rate
		rule := logRule{counted: s.usual * seconds, more: more}
		if change, ok := s.throughput.add(math.Log(rate/expected), iv.StartNs, rule); ok {
			c.step(iv, Throughput, operation, change, math.Exp(change.from)*expected, math.Exp(change.to)*expected)
		}
		if change, ok := s.p99.add(math.Log(float64(max(response.Quantile(0.99), 1))), iv.StartNs,
			logRule{counted: quantileCounts * s.usual * seconds, more: more}); ok {
			c.step(iv, P99, operation, change, math.Exp(change.from), math.Exp(change.to))
		}
	}
	if n.Done > 0 {
		if change, ok := s.errors.add(float64(n.Failed())/float64(n.Done), iv.StartNs, shareRule{n.Done, more}); ok {
			c.step(iv, Errors, operation, change, change.from, change.to)
		}
	}
}

const (
	// absentLeast is how many successes must be missing before there is a pause. Of random arrivals, so many are absent
	// by chance once in a million times.
	absentLeast = 14
	// quantileCounts is the number of events whose rate varies as much as a high quantile of one response time. Chosen, for
	// response times that vary by half of their mean.
	quantileCounts = 4
	// usualWeight is the weight of an interval in the mean throughput.
	usualWeight = 0.05
)

// learn takes the mean rate of some intervals into the mean throughput.
func (s *operationSeries) learn(rate float64, intervals int) {
	s.known += intervals
	weight := max(1-math.Pow(1-usualWeight, float64(intervals)), min(float64(intervals)/float64(s.known), 1))
	s.usual += (rate - s.usual) * weight
}

// pause reports whether the interval belongs to a pause, including the first success after it. wanted reports
// whether any operation was to be sent.
func (s *operationSeries) pause(rate, seconds float64, startNs int64, wanted bool) bool {
	switch {
	case rate > 0:
		if !s.paused {
			s.events += rate * seconds
			s.learn(rate*seconds/(s.quiet+seconds), 1+int(s.quiet/seconds))
		}
		s.quiet = 0
		return s.paused
	case !wanted:
		return s.paused
	case s.quiet == 0:
		s.quietNs = startNs
	}
	s.quiet += seconds
	certain := max(1-2/math.Sqrt(max(s.events, 1)), 0) // a mean of few events may be too high
	return s.paused || certain*s.usual*s.quiet >= absentLeast
}

// told adds a hint about a pause, unless pauses are known to recur.
func (c *Detector) told(h Hint, iv *measure.Interval) {
	if !c.stalls.told {
		c.hint(h, iv)
	}
}

// multiplicity returns the factor by which a change must be clearer because several operations are followed, each of
// which may change by chance. The tail of the normal distribution falls as exp(−z²/2), so for k of them z² has to grow
// by 2·ln k.
func (c *Detector) multiplicity() float64 {
	return math.Sqrt(1 + 2*math.Log(float64(max(c.followed, 1)))/(zLimit*zLimit))
}

// step adds a hint about a change. from and to are the levels in the metric's unit.
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
	s.before, s.usual, s.known, s.events, s.quiet = 0, 0, 0, 0, 0
	for _, one := range [...]*series{&s.p99, &s.throughput, &s.errors} {
		*one = series{first: first}
	}
}
