package session

import (
	"errors"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/inspect/observe"
	"brunt/internal/inspect/observe/self"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	interval = time.Second
	// patience is how long a cut waits for the plan that leads; see EngineRun.
	patience = interval + interval/2
	// shortestNs is the shortest interval. Time-series databases have timestamps in milliseconds, and reject two values
	// of a series with the same one.
	shortestNs = int64(time.Millisecond)
	// loadPhase is the phase of a run of k6. idlePhase is the phase of intervals in which nothing runs: in setup after
	// an early scenario, between scenarios, in teardown.
	loadPhase, idlePhase = "load", "idle"
)

// cutter divides a run into intervals, from the beginning of its load.
type cutter struct {
	s         *Session
	collector *measure.Collector
	begun     atomic.Bool
	cutsDue   chan int64    // times at which the plan that leads has cut its intervals
	stop      chan struct{} // closed at the end
	stopped   chan struct{}
	working   atomic.Int64 // brunt's executors that are running
	open      atomic.Bool  // arrivals follow a schedule
	setsUp    atomic.Bool  // the script may have a function setup
	overdue   atomic.Uint64

	mu         sync.Mutex // guards what follows
	cuts       int
	delay      time.Duration // see Script.Delay
	scenarioNs int64         // when the first scenario begins; −1 if that isn't known
	sinks      []measure.Sink
	hints      *record.HintTaker
	health     *self.Probe
	tally      measure.Tally
	fromNs     int64
	engineRuns []*EngineRun
	stream     stream
	told       bool // a sink's failure was reported
	gcTuner    gcTuner
	watch      *observe.Watcher // of the script's own metrics and this machine; nil before the load

	vusBefore int
	over      bool
	gridNs    int64 // with Options.Epoch: when the first interval began; 0 otherwise
}

func (c *cutter) init(s *Session) {
	c.s, c.collector = s, measure.NewCollector(mostOperations, mostAddresses)
	c.scenarioNs = -1
	c.cutsDue, c.stop, c.stopped = make(chan int64, 4), make(chan struct{}), make(chan struct{})
}

// loadBegan begins the first interval at ns. Further calls have no effect.
func (s *Session) loadBegan(ns int64) {
	c := &s.cutter
	if c.begun.Load() || !s.recording.Load() || !c.begun.CompareAndSwap(false, true) {
		return
	}
	c.mu.Lock()
	if ns = max(ns, 0); c.scenarioNs >= 0 && c.gridNs == 0 {
		ns = min(ns, c.scenarioNs)
	}
	c.collector.Begin(ns)
	c.fromNs = ns
	c.health = self.Start(nil)
	c.gcTuner.set()
	c.startWatching()
	c.mu.Unlock()
	go c.run()
}

// RunBegins records that k6 begins the run now: it calls setup, if there is one, and then the load begins.
func (s *Session) RunBegins() {
	if !s.cutter.setsUp.Load() {
		s.scenariosBegin(s.clock.Now())
	}
}

// SetUpAt records that k6's call of setup ended at a given time. The load begins then.
func (s *Session) SetUpAt(at time.Time) { s.scenariosBegin(s.At(at)) }

// scenariosBegin records that the load begins at ns, plus the time that passes before the first scenario. What it
// records begins the first interval, and may do that later, since iterations may do other things before their first
// call, or before k6 reports the end of setup.
func (s *Session) scenariosBegin(ns int64) {
	c := &s.cutter
	c.mu.Lock()
	defer c.mu.Unlock()
	ns = max(ns, 0) + int64(c.delay)
	c.scenarioNs = ns
	if c.begun.Load() && c.cuts == 0 && c.gridNs == 0 && ns < c.fromNs {
		c.collector.Begin(ns)
		c.fromNs = ns
	}
}

func (c *cutter) run() {
	defer close(c.stopped)
	timer := time.NewTimer(c.pause())
	defer timer.Stop()
	for {
		var at int64
		select {
		case at = <-c.cutsDue:
		case <-timer.C:
			at = c.s.clock.Now()
		case <-c.stop:
			return
		}
		c.mu.Lock()
		if !c.over {
			c.cut(at)
		}
		c.mu.Unlock()
		timer.Reset(c.pause())
	}
}

// pause returns the time until the next cut.
func (c *cutter) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.engineRuns) > 0:
		return patience
	case c.gridNs > 0: // a late cut makes the following interval shorter
		next := c.fromNs + int64(interval/2) - c.gridNs
		next = c.gridNs + (next/int64(interval)+1)*int64(interval)
		return time.Duration(max(next-c.s.clock.Now(), 0))
	}
	return interval
}

// cut ends the current interval at ns. c.mu is held.
func (c *cutter) cut(ns int64) {
	if ns <= c.fromNs {
		return
	}
	meta := measure.Meta{Phase: loadPhase, Kind: c.kind(), UnixNs: c.s.clock.Unix(c.fromNs), Health: c.health.Sample()}
	iv := *c.collector.Cut(ns, meta)
	c.fromNs = ns
	c.cuts++
	c.gcTuner.set()
	for _, g := range c.engineRuns {
		g.addTo(&iv)
	}
	c.forgetEngineRuns()
	if c.over {
		c.s.held.release(c.s, &iv, ns)
	}
	operations, addresses := c.s.lengths()
	iv.Operations, iv.Addresses = iv.Operations[:operations], iv.Addresses[:addresses]
	iv.Sessions += c.vus(&iv)
	iv.Overdue += c.overdue.Swap(0)
	if c.idle(&iv) {
		iv.Phase, iv.Kind = idlePhase, measure.KindPause
	}
	iv.Settle()
	_ = c.tally.Interval(&iv)
	c.tell(&iv)
}

// vus returns how many VUs were running at the end of an interval. If there are none although operations were done, as
// in the last interval, it returns the previous number.
func (c *cutter) vus(iv *measure.Interval) int {
	n := c.s.activeVUs.Load()
	if es := c.s.state.Load(); es != nil {
		n = es.GetCurrentlyActiveVUsCount()
	}
	if done := iv.Totals(); n == 0 && done.Done > 0 && len(c.engineRuns) == 0 {
		return c.vusBefore
	}
	c.vusBefore = int(n)
	return int(n)
}

func (c *cutter) kind() string {
	if c.open.Load() {
		return measure.KindOpen
	}
	return measure.KindClosed
}

// idle reports whether there was no load in an interval.
func (c *cutter) idle(iv *measure.Interval) bool {
	n := iv.Totals()
	return n.Arrivals() == 0 && iv.Offered == 0 && iv.Sessions == 0 && c.working.Load() == 0
}

// tell passes the interval to all sinks.
func (c *cutter) tell(iv *measure.Interval) {
	err := c.s.update(func(run *record.Run) error {
		if c.hints == nil {
			c.hints = record.NewHintTaker(run, nil)
		}
		return c.hints.Interval(iv)
	})
	for _, sink := range c.sinks {
		err = errors.Join(err, sink.Interval(iv))
	}
	c.stream.interval(c.s, iv)
	if err != nil && !c.told {
		c.told = true
		c.s.warn(record.Warning{ID: "sink", Text: message.OfError(err)})
	}
}

// LoadOver cuts an interval at the end of k6's load, so that Sums includes everything that modules and executors have
// recorded when k6 judges. Samples of k6's own modules may arrive later.
func (s *Session) LoadOver() {
	s.over.Store(true)
	c := &s.cutter
	if !c.begun.Load() || !s.requests.Load() || s.metrics.Load() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.cut(max(s.lastNs.Load(), c.fromNs+shortestNs))
	}
}

// Over reports whether k6's load is over, so that Sums includes everything that modules and executors recorded.
func (s *Session) Over() bool { return s.over.Load() }

// Settled cuts the last interval. It is called when no more samples arrive.
func (s *Session) Settled() {
	s.settle()
	s.settleAll()
	c := &s.cutter
	if !c.begun.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	close(c.stop)
	// The time since the last call, as in teardown, isn't part of the load.
	c.cut(max(s.lastNs.Load(), c.fromNs+shortestNs))
	c.health.Stop()
}

// Sums calls f with the sums so far, without warm-up, and the names of the operations. f must not keep references to
// them.
func (s *Session) Sums(f func(all *measure.Account, names []string)) {
	names := s.names()
	s.cutter.mu.Lock()
	defer s.cutter.mu.Unlock()
	f(s.cutter.tally.Total(), names)
}

// Working marks the beginning of one of brunt's executors. The caller calls done at its end. open says whether its
// arrivals follow a schedule.
func (s *Session) Working(open bool) (done func()) {
	s.loadBegan(s.clock.Now())
	if open {
		s.cutter.open.Store(true)
	}
	s.cutter.working.Add(1)
	return func() {
		s.touch(s.clock.Now())
		s.cutter.working.Add(-1)
	}
}

// startWatching starts sampling the script's own metrics and this machine, once an interval. c.mu is held.
func (c *cutter) startWatching() {
	var sources []observe.Source
	if host, err := observe.NewHost(); err == nil {
		sources = append(sources, host)
	}
	c.s.draft.mu.Lock()
	if c.s.figures != nil {
		sources = append(sources, c.s.figures)
	}
	dir, fsys := c.s.bundle.Dir, record.FS(record.OS{})
	c.s.draft.mu.Unlock()
	if c.s.o.None {
		fsys = record.Nowhere{}
	}
	c.watch = observe.NewWatcher(sources, time.Now)
	if err := c.watch.Start(fsys, dir); err != nil {
		c.s.warn(record.Warning{ID: "watch-record", Text: message.OfError(err)})
	}
	c.sinks = append(c.sinks, c.watch)
}

// watched stops the sampling and adds the results to the record. whole holds the script's metrics over the whole run.
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

// overTime completes the metrics of the whole run from their samples: the first and last values, and the extremes of
// shares. Counters remain sums.
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

// k6 allocates in every iteration, while its VUs hold a large heap. Collecting less often costs up to extraBytes of
// memory. A heap that is already large is collected at Go's default.
const (
	mostGCPercent  = 400
	leastGCPercent = 100
	extraBytes     = 256 << 20
)

// gcPercent returns the collector's target (GOGC) for a heap with live bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(extraBytes*100/max(live, 1), leastGCPercent), mostGCPercent))
}

// gcTuner adjusts the collector's target as the heap grows. It does nothing if the user sets GOGC.
type gcTuner struct{ percent int }

// set adjusts the target to the current heap. It is called once an interval.
func (c *gcTuner) set() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if want := gcPercent(live[0].Value.Uint64()); 10*want < 9*c.percent || 9*want > 10*c.percent {
		c.percent = want
		debug.SetGCPercent(want)
	}
}
