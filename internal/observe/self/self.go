// Package self watches the load generator's own process: what it takes, what it waits for and
// whether it stood still. What the kernel doesn't tell (outside Linux most of it) stays 0.
package self

import (
	"io/fs"
	"os"
	"runtime/metrics"
	"sync"
	"time"

	"brunt/internal/measure"
)

const (
	// beatNs is how often the watchdog looks at the clock.
	beatNs = int64(100 * time.Millisecond)
	// stillNs is how long a gap between two looks must be to count as a standstill.
	stillNs = int64(500 * time.Millisecond)
)

// system is where readings come from.
type system struct {
	files     fs.FS        // the root directory
	pageBytes uint64       //
	monotonic func() int64 // ns; stops while the machine is suspended
	boot      func() int64 // ns; doesn't stop
	cpu       func() int64 // ns of processor time that the process has used
}

// Probe is a measure.HealthProbe of this process. It is safe for concurrent use.
type Probe struct {
	s     system
	stop  chan struct{}
	ended sync.WaitGroup

	mu       sync.Mutex
	last     reading
	lastBeat reading
	pausedNs int64             // found by beats since the last sample
	waits    map[string]uint64 // of each thread known, see runQueueNs
	throttle map[string]int64
	text     []byte // see readFile
	samples  []metrics.Sample
	pauses   []uint64 // counts of the runtime's histogram at the last sample
	cycles   uint64

	listed int // how often threads were to be listed, see listEvery
}

// reading is the clocks at one moment.
type reading struct{ monotonic, boot, cpu int64 }

var _ measure.HealthProbe = (*Probe)(nil)

// Start begins to watch. Stop must be called in the end.
func Start() *Probe {
	monotonic, boot := clocks()
	p := newProbe(system{
		files: os.DirFS("/"), pageBytes: uint64(os.Getpagesize()),
		monotonic: monotonic, boot: boot, cpu: cpuNs,
	})
	p.ended.Go(p.watch)
	return p
}

func newProbe(s system) *Probe {
	p := &Probe{
		s: s, stop: make(chan struct{}),
		waits: make(map[string]uint64), throttle: make(map[string]int64),
		samples: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/gc/cycles/total:gc-cycles"}},
	}
	p.last = p.read()
	p.lastBeat = p.last
	p.runQueueNs()
	p.throttledNs()
	p.collections()
	return p
}

// watch is the watchdog's heart.
func (p *Probe) watch() {
	ticker := time.NewTicker(time.Duration(beatNs))
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.beat()
			p.mu.Unlock()
		}
	}
}

// Stop ends the watching. Sample must not be called afterwards.
func (p *Probe) Stop() {
	close(p.stop)
	p.ended.Wait()
}

func (p *Probe) read() reading {
	return reading{p.s.monotonic(), p.s.boot(), p.s.cpu()}
}

// beat adds to pausedNs how long the machine was suspended since the last beat, and how long the
// process stood still: more than stillNs in which it should have been here and used (next to) no
// processor. A process that merely had no core for its watchdog has used some.
func (p *Probe) beat() reading {
	now := p.read()
	gap := now.monotonic - p.lastBeat.monotonic
	if gap > stillNs && now.cpu-p.lastBeat.cpu < gap/10 {
		p.pausedNs += gap - beatNs
	}
	const jitterNs = 10_000_000 // between the two clocks' readings
	if suspended := (now.boot - p.lastBeat.boot) - gap; suspended > jitterNs {
		p.pausedNs += suspended
	}
	p.lastBeat = now
	return now
}

// Sample returns the state since the last call. LoopBusy and SendStalls are 0.
func (p *Probe) Sample() measure.Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.beat()
	h := measure.Health{
		CgroupThrottledNs: p.throttledNs(),
		RunQueueNs:        p.runQueueNs(),
		RSSBytes:          p.residentBytes(),
		PausedNs:          p.pausedNs,
	}
	if wall := now.monotonic - p.last.monotonic; wall > 0 {
		h.ProcessCPU = float64(now.cpu-p.last.cpu) / float64(wall)
	}
	h.GCPauseNsMax, h.GCCycles = p.collections()
	p.last, p.pausedNs = now, 0
	return h
}

// collections returns the longest stop of the world for the garbage collector since the last
// call, rounded up to a bucket of the runtime's histogram (25 % wide), and how many there were.
func (p *Probe) collections() (pauseNsMax int64, cycles uint32) {
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
	return pauseNsMax, cycles
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
