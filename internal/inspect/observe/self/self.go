// Package self monitors the load generator's own process: the resources it uses, how long it waits for them,
// and whether it was stopped. Figures that the operating system doesn't provide (most of them outside Linux)
// are 0.
package self

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"brunt/internal/engine/machine"
	"brunt/internal/measure"
)

const (
	// beatNs is the time between two checks of the watchdog.
	beatNs = int64(10 * time.Millisecond)
	// heldNs is the least delay of the watchdog that counts as a stop of the process, if the watchdog didn't
	// wait for a core and the process used none in that time. It is longer than a sleeping core takes to wake up.
	heldNs = int64(15 * time.Millisecond)
	// takenNs is that delay if the process worked before it, so that its core was awake. It is more than the two
	// slices of the scheduler for which others may have the core in turn (3 ms each, EEVDF's base slice on two cores).
	takenNs = int64(7 * time.Millisecond)
	// stillNs is the shortest gap between two checks that counts as a standstill.
	stillNs = int64(500 * time.Millisecond)
)

// system provides the readings; tests replace it.
type system struct {
	files     fs.FS // the root directory
	pageBytes uint64
	monotonic func() int64 // ns; stops while the machine is suspended
	boot      func() int64 // ns; runs on while the machine is suspended
	usage     func() used
	// waited returns a clock of the time, in ns, that the calling thread has waited for a core. end releases
	// it.
	waited func() (clock func() int64, end func())
	cores  []int        // that the process may use; nil if unknown
	idle   func() int64 // CPU time, in ns, of our threads of idle priority; nil if there are none
}

// used is what the process has used so far.
type used struct {
	cpuNs                  int64 // CPU time
	voluntary, involuntary uint64
}

// Probe is the measure.HealthProbe of this process. It is safe for concurrent use.
type Probe struct {
	s     system
	stop  chan struct{}
	ended sync.WaitGroup

	mu       sync.Mutex
	last     reading
	lastBeat reading
	bootNs   int64             // boot clock minus monotonic clock at the last sample
	pausedNs int64             // standstills found since the last sample
	heldNs   int64             // stops found since the last sample, see held
	wakeNs   int64             // how long the watchdog waited for a core since the last sample
	threads  map[string]thread // the known threads, see runQueueNs
	cores    coreTimes
	unread   sinceCores
	throttle map[string]int64
	text     []byte // see readFile
	samples  []metrics.Sample
	pauses   []uint64 // counts of the runtime's histogram at the last sample
	gcCPUNs  int64    // CPU time of the garbage collector so far
	cycles   uint64

	listed int // number of calls of runQueueNs, see listEvery
}

// reading is the monotonic clock and the process's usage at one moment.
type reading struct {
	monotonic int64
	used
}

var _ measure.HealthProbe = (*Probe)(nil)

// Start starts the watchdog. idle, if not nil, returns the CPU time, in ns, of threads of idle priority that
// run outside this process on its behalf; this time isn't counted as other processes'. The caller must call
// Stop in the end.
func Start(idle func() int64) *Probe {
	monotonic, boot := clocks()
	p := newProbe(system{
		files: os.DirFS("/"), pageBytes: uint64(os.Getpagesize()),
		monotonic: monotonic, boot: boot, usage: usage, waited: waitedClock, cores: machine.Cores(), idle: idle,
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

// watch is the loop of the watchdog.
func (p *Probe) watch() {
	runtime.LockOSThread() // clock is of this thread; it ends with the goroutine
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

// held returns for how long, in ns, the process was stopped between two checks of its watchdog, for example by
// SIGSTOP, by a paused hypervisor, or by others that took its core: the part of the gap in which the watchdog neither
// slept nor waited for a core. A watchdog that sleeps by the runtime's timer doesn't wait for a core while the thread
// that would wake it does. It is 0 if that is less than heldNs, or takenNs, or if the process used a core for more than
// half of the gap, since it wasn't stopped then. Gaps longer than stillNs are left to beat.
func held(gap, cpu, waited int64) int64 {
	late, least := gap-beatNs-waited, heldNs
	if cpu > beatNs/5 {
		least = takenNs
	}
	if late < least || gap > stillNs || cpu > gap/2 {
		return 0
	}
	return late
}

// Stop stops the watchdog. Sample must not be called afterwards.
func (p *Probe) Stop() {
	close(p.stop)
	p.ended.Wait()
}

func (p *Probe) read() reading {
	return reading{p.s.monotonic(), p.s.usage()}
}

// beat adds the standstill since the last beat, if there was one, to pausedNs: a gap of more than stillNs in
// which the process used less than a tenth of one core. If only the watchdog lacked a core, the process has
// used more.
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
	const jitterNs = 10_000_000 // between the readings of the two clocks
	bootNs := p.s.boot() - monotonicNs
	if suspended := bootNs - p.bootNs; suspended > jitterNs {
		p.pausedNs += suspended
	}
	p.bootNs = bootNs
}

// Sample returns the state since the last call. LoopBusy and SendStalls are always 0.
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

// collections returns, since the last call, the longest stop-the-world pause of the garbage collector, rounded
// up to a bucket of the runtime's histogram (25 % wide), the number of collections, and their CPU time in ns.
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

// longest returns the upper bound, in ns, of the highest bucket that has grown, or its lower bound if it is the
// last bucket, which has no upper one. It returns 0 if no bucket has grown.
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
