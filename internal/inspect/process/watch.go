package process

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

const (
	leastPeriod = 20 * time.Millisecond // between samples of the threads' states
	mostPeriod  = time.Second
	leastCount  = 250 * time.Millisecond // between readings of the counters
	mostCount   = 5 * time.Second
	sampleBound = 600  // samples take at most 1/sampleBound of a core,
	countBound  = 1000 // and readings 1/countBound
)

// Watch observes processes during a load. It is a measure.Sink that only signals its goroutine.
type Watch struct {
	// Remote says that the load also comes from other machines. It must be set before Start.
	Remote bool

	all   []*observed
	ticks chan tick
	stop  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
	spent time.Duration // of processor time
	began time.Time
	took  time.Duration
}

var _ measure.Sink = (*Watch)(nil)

// tick is the end of an interval.
type tick struct {
	warmUp   bool
	length   time.Duration
	inFlight float64
}

// New returns a watch of no processes yet.
func New() *Watch { return &Watch{ticks: make(chan tick, 16), stop: make(chan struct{})} }

// Start begins the observation of processes, which may be none. It must be called right before the load starts.
func (w *Watch) Start(targets []Target) {
	for _, t := range targets {
		o := newObserved(t, procFolder, "/")
		o.peers.remote = w.Remote
		w.all = append(w.all, o)
	}
	if len(w.all) == 0 {
		return
	}
	w.began = time.Now()
	w.done.Go(w.run)
}

// Interval implements measure.Sink. It never fails or blocks.
func (w *Watch) Interval(iv *measure.Interval) error {
	if len(w.all) == 0 {
		return nil
	}
	select {
	case w.ticks <- tick{iv.WarmUp, time.Duration(iv.EndNs - iv.StartNs), iv.Pace.InFlightNs}:
	default:
	}
	return nil
}

// run takes samples until stop is closed. It isn't locked to a thread: waking one for each sample would cost more than
// the samples.
func (w *Watch) run() {
	period, every := leastPeriod, leastCount
	w.spentBy(w.count)
	counted := time.Now()
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			w.spentBy(w.pending)
			w.took = time.Since(w.began)
			return
		case t := <-w.ticks:
			// The next interval may be the first that is measured. After that, readings needn't be at ends of intervals.
			if t.warmUp {
				w.spentBy(w.count)
				counted = time.Now()
			}
			w.close(t)
		case <-timer.C:
			cost := w.spentBy(func() {
				for _, o := range w.all {
					if !o.gone {
						o.sample()
					}
				}
			})
			period = bounded(cost*sampleBound, leastPeriod, mostPeriod)
			if time.Since(counted) >= every {
				every = bounded(w.spentBy(w.count)*countBound, leastCount, mostCount)
				counted = time.Now()
			}
			timer.Reset(period)
		}
	}
}

// pending closes the intervals that have ended and not been counted yet.
func (w *Watch) pending() {
	w.count()
	for {
		select {
		case t := <-w.ticks:
			w.close(t)
		default:
			w.close(tick{})
			return
		}
	}
}

func bounded(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }

// spentBy returns the processor time that a function takes, and adds it to the cost.
func (w *Watch) spentBy(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	f()
	took := threadTime() - began
	w.spent += took
	return took
}

// machineNow reads the machine's times.
func machineNow() (m machine) {
	if text, err := os.ReadFile(filepath.Join(procFolder, "stat")); err == nil {
		m.busy, m.stolen = busyTicks(text)
	}
	if text, err := os.ReadFile(filepath.Join(procFolder, "diskstats")); err == nil {
		m.disks = parseDisks(text)
	}
	return m
}

func (w *Watch) count() {
	m := machineNow()
	for _, o := range w.all {
		if !o.gone {
			o.count()
			o.others(m)
		}
	}
}

func (w *Watch) close(t tick) {
	for _, o := range w.all {
		o.close(!t.warmUp, t.length, t.inFlight)
	}
}

// Finish ends the observation and returns what was seen of each process, with what limits it. replicas are the
// addresses, without ports, from which replicas of the servers are connected, as far as they are known. It must be
// called after the last interval. Later calls return nothing.
func (w *Watch) Finish(replicas ...string) (out []record.Process) {
	w.once.Do(func() {
		close(w.stop)
		w.done.Wait()
		for _, o := range w.all {
			if o.sum.length > 0 && o.sum.samples > 0 {
				p := o.record()
				p.CostShare = float64(w.spent) / max(float64(w.took), 1) / float64(len(w.all))
				tellReplicas(p.Unread, replicas)
				p.Findings = judge(&p, o.sum.inFlight/float64(o.sum.length))
				out = append(out, p)
			}
			o.end()
		}
	})
	return out
}
