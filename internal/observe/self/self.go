// Package self watches the load generator's own process: what it takes, what it waits for and
// whether it stood still. What the kernel doesn't tell (outside Linux most of it) stays 0.
package self

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"brunt/internal/measure"
)

const (
	// beatNs is how often the watchdog looks at the clock.
	beatNs = int64(10 * time.Millisecond)
	// heldNs is how late the watchdog must be to have been stopped, when it neither waited for a core nor
	// the process used one: later than cores wake up that sleep.
	heldNs = int64(15 * time.Millisecond)
	// stillNs is how long a gap between two looks must be to count as a standstill.
	stillNs = int64(500 * time.Millisecond)
)

// system is where readings come from.
type system struct {
	files     fs.FS        // the root directory
	pageBytes uint64       //
	monotonic func() int64 // ns; stops while the machine is suspended
	boot      func() int64 // ns; doesn't stop
	usage     func() used  //
	// waited makes the calling thread's clock of ns that it has waited for a core; end closes it.
	waited func() (clock func() int64, end func())
	cores  []int        // that the process may use; nil if unknown
	idle   func() int64 // ns of processor time that our threads of idle priority have used; nil without any
}

// used is what the process has used up.
type used struct {
	cpuNs                  int64 // of processor time
	voluntary, involuntary uint64
}

// Probe is a measure.HealthProbe of this process. It is safe for concurrent use.
type Probe struct {
	s     system
	stop  chan struct{}
	ended sync.WaitGroup

	mu       sync.Mutex
	last     reading
	lastBeat reading
	bootNs   int64             // what the clock that doesn't stop was ahead of the other at the last sample
	pausedNs int64             // found since the last sample
	heldNs   int64             // so too
	wakeNs   int64             // what the watchdog waited for a core since the last sample
	threads  map[string]thread // that are known, see runQueueNs
	cores    coreTimes
	unread   sinceCores
	throttle map[string]int64
	text     []byte // see readFile
	samples  []metrics.Sample
	pauses   []uint64 // counts of the runtime's histogram at the last sample
	gcCPUNs  int64    // of the collector so far
	cycles   uint64

	listed int // how often threads were to be listed, see listEvery
}

// reading is the clocks at one moment.
type reading struct {
	monotonic int64
	used
}

var _ measure.HealthProbe = (*Probe)(nil)

// Start begins to watch. idle, if not nil, is the processor time, in ns, that threads of idle priority
// outside this process have used on its account: nobody else's. Stop must be called in the end.
func Start(idle func() int64) *Probe {
	monotonic, boot := clocks()
	p := newProbe(system{
		files: os.DirFS("/"), pageBytes: uint64(os.Getpagesize()),
		monotonic: monotonic, boot: boot, usage: usage, waited: waitedClock, cores: allowedCores(), idle: idle,
	})
	p.ended.Go(p.watch)
	return p
}

func newProbe(s system) *Probe {
	p := &Probe{
		s: s, stop: make(chan struct{}),
		threads: make(map[string]thread), throttle: make(map[string]int64),
		samples: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/gc/cycles/total:gc-cycles"},
			{Name: "/cpu/classes/gc/total:cpu-seconds"}},
	}
	p.last = p.read()
	p.lastBeat = p.last
	p.bootNs = p.s.boot() - p.last.monotonic
	p.runQueueNs()
	p.coresNs(0, 0)
	p.throttledNs()
	p.collections()
	return p
}

// watch is the watchdog's heart.
func (p *Probe) watch() {
	runtime.LockOSThread() // whose waiting for a core is known; it ends with the goroutine
	clock, end := p.s.waited()
	defer end()
	last, waited := p.read(), clock()
	for {
		select {
		case <-p.stop:
			return
		default:
		}
		nap(time.Duration(beatNs))
		p.mu.Lock()
		now, wait := p.beat(), clock()
		p.wakeNs += wait - waited
		p.heldNs += held(now.monotonic-last.monotonic, now.cpuNs-last.cpuNs, wait-waited)
		p.mu.Unlock()
		last, waited = now, wait
	}
}

// held is for how long, in ns, the process was stopped between two beats of its watchdog (SIGSTOP, a
// hypervisor that stood still): what is left of the gap without the time in which the watchdog waited for
// a core. A process that used a core in the meantime wasn't stopped. Longer gaps are beat's.
func held(gap, cpu, waited int64) int64 {
	late := gap - beatNs - waited
	if late < heldNs || gap > stillNs || cpu > gap/2 {
		return 0
	}
	return late
}

// Stop ends the watching. Sample must not be called afterwards.
func (p *Probe) Stop() {
	close(p.stop)
	p.ended.Wait()
}

func (p *Probe) read() reading {
	return reading{p.s.monotonic(), p.s.usage()}
}

// beat adds to pausedNs how long the process stood still since the last beat: more than stillNs in which
// it should have been here and used (next to) no processor. A process that merely had no core for its
// watchdog has used some.
func (p *Probe) beat() reading {
	now := p.read()
	gap := now.monotonic - p.lastBeat.monotonic
	if gap > stillNs && now.cpuNs-p.lastBeat.cpuNs < gap/10 {
		p.pausedNs += gap - beatNs
	}
	p.lastBeat = now
	return now
}

// findSuspension adds to pausedNs how long the machine was suspended since the last sample.
func (p *Probe) findSuspension(monotonicNs int64) {
	const jitterNs = 10_000_000 // between the two clocks' readings
	bootNs := p.s.boot() - monotonicNs
	if suspended := bootNs - p.bootNs; suspended > jitterNs {
		p.pausedNs += suspended
	}
	p.bootNs = bootNs
}

// Sample returns the state since the last call. LoopBusy and SendStalls are 0.
func (p *Probe) Sample() measure.Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.beat()
	p.findSuspension(now.monotonic)
	h := measure.Health{
		CgroupThrottledNs: p.throttledNs(),
		RSSBytes:          p.residentBytes(),
		PausedNs:          p.pausedNs, HeldNs: p.heldNs, WakeWaitNs: p.wakeNs,

		VoluntarySwitches: now.voluntary - p.last.voluntary, InvoluntarySwitches: now.involuntary - p.last.involuntary,
	}
	wallNs, cpuNs := now.monotonic-p.last.monotonic, now.cpuNs-p.last.cpuNs
	if wallNs > 0 {
		h.ProcessCPU = float64(cpuNs) / float64(wallNs)
	}
	h.RunQueueNs, h.LoopRunQueueNs = p.runQueueNs()
	h.StealNs, h.OthersNs = p.coresNs(wallNs, cpuNs)
	h.GCPauseNsMax, h.GCCycles, h.GCCPUNs = p.collections()
	p.last, p.pausedNs, p.heldNs, p.wakeNs = now, 0, 0, 0
	return h
}

// collections returns the longest stop of the world for the garbage collector since the last
// call, rounded up to a bucket of the runtime's histogram (25 % wide), how many collections there were,
// and their processor time, in ns.
func (p *Probe) collections() (pauseNsMax int64, cycles uint32, cpuNs int64) {
	metrics.Read(p.samples)
	if p.samples[0].Value.Kind() == metrics.KindFloat64Histogram {
		h := p.samples[0].Value.Float64Histogram()
		pauseNsMax = longest(h, p.pauses)
		p.pauses = append(p.pauses[:0], h.Counts...)
	}
	if p.samples[1].Value.Kind() == metrics.KindUint64 {
		n := p.samples[1].Value.Uint64()
		cycles = uint32(n - p.cycles)
		p.cycles = n
	}
	if p.samples[2].Value.Kind() == metrics.KindFloat64 {
		now := int64(p.samples[2].Value.Float64() * 1e9)
		cpuNs = now - p.gcCPUNs
		p.gcCPUNs = now
	}
	return pauseNsMax, cycles, cpuNs
}

// longest is the upper end, in ns, of the highest bucket that has grown; the lower end where
// there is no upper one.
func longest(h *metrics.Float64Histogram, before []uint64) int64 {
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if i < len(before) && h.Counts[i] == before[i] || h.Counts[i] == 0 {
			continue
		}
		end := h.Buckets[i+1]
		if end > 1e9 {
			end = max(h.Buckets[i], 0)
		}
		return int64(end * 1e9)
	}
	return 0
}
