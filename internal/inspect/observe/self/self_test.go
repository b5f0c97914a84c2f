package self

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/metrics"
	"syscall"
	"testing"
	"testing/fstest"
)

// fakeSystem is a system whose figures the test sets.
type fakeSystem struct {
	now    reading
	boot   int64
	idleNs int64
	files  fstest.MapFS
}

func newMachine() (*fakeSystem, *Probe) {
	m := &fakeSystem{files: fstest.MapFS{}}
	m.put("proc/self/statm", "1000 250 30 1 0 200 0\n")
	m.put("proc/self/cgroup", "0::/user/app\n")
	m.put("sys/fs/cgroup/user/app/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 1000\n")
	m.put("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
	m.put("proc/self/task/10/schedstat", "500 70 3\n")
	return m, newProbe(system{
		files: m.files, pageBytes: 4096,
		monotonic: func() int64 { return m.now.monotonic },
		boot:      func() int64 { return m.boot },
		usage:     func() used { return m.now.used },
		cores:     []int{0, 2},
		idle:      func() int64 { return m.idleNs },
	})
}

func (m *fakeSystem) put(name, text string) { m.files[name] = &fstest.MapFile{Data: []byte(text)} }

// run lets ms milliseconds pass, of which the process computes for cpuMs, with a number of heartbeats.
func (m *fakeSystem) run(p *Probe, ms, cpuMs int64, beats int) {
	for range beats {
		m.now.monotonic += ms * 1e6 / int64(beats)
		m.boot += ms * 1e6 / int64(beats)
		m.now.cpuNs += cpuMs * 1e6 / int64(beats)
		p.beat()
	}
}

func TestDeltas(t *testing.T) {
	m, p := newMachine()
	m.run(p, 1000, 1500, 10)
	m.put("sys/fs/cgroup/user/app/cpu.stat", "throttled_usec 1750\n")
	m.put("proc/self/task/10/schedstat", "900 100 4\n")
	m.put("proc/self/task/11/schedstat", "1 5 1\n")
	h := p.Sample()
	if h.ProcessCPU != 1.5 || h.CgroupThrottledNs != 750_000 || h.RunQueueNs != 35 || h.RSSBytes != 250*4096 ||
		h.PausedNs != 0 {
		t.Errorf("%+v", h)
	}
	delete(m.files, "proc/self/task/10/schedstat")
	m.run(p, 500, 0, 5)
	if h = p.Sample(); h.ProcessCPU != 0 || h.CgroupThrottledNs != 0 || h.RunQueueNs != 0 {
		t.Errorf("nothing has happened, and yet: %+v", h)
	}
}

func TestThreadsThatComeLaterAreFound(t *testing.T) {
	m, p := newMachine()
	for range 2 * listEvery {
		p.Sample()
	}
	m.put("proc/self/task/10/schedstat", "900 100 4\n")
	m.put("proc/self/task/12/schedstat", "1 6 1\n")
	var sum int64
	for range listEvery {
		sum += p.Sample().RunQueueNs
	}
	if sum != 36 {
		t.Errorf("the old thread waited 30 ns and the new one 6, in all %d", sum)
	}
}

func TestThreadsThatTakeANumberAgainAreCounted(t *testing.T) {
	m, p := newMachine()
	m.put("proc/self/task/10/schedstat", "1 5 1\n")
	if got := p.Sample().RunQueueNs; got != 0 {
		t.Errorf("a new thread with an old one's number: %d ns", got)
	}
	m.put("proc/self/task/10/schedstat", "1 12 1\n")
	if got := p.Sample().RunQueueNs; got != 7 {
		t.Errorf("it waited 7 ns more: %d", got)
	}
}

func TestStandstills(t *testing.T) {
	m, p := newMachine()
	m.run(p, 1000, 500, 10)
	m.run(p, 3000, 0, 1) // stopped by a signal
	m.run(p, 1000, 500, 10)
	if h := p.Sample(); h.PausedNs != 2_990_000_000 {
		t.Errorf("stopped for 3 s: %d ns", h.PausedNs)
	}
	m.run(p, 3000, 2900, 1) // the process was busy, and only the watchdog got no core
	if h := p.Sample(); h.PausedNs != 0 {
		t.Errorf("a busy process was taken for a stopped one: %d ns", h.PausedNs)
	}
	m.run(p, 100, 10, 1)
	m.boot += 7e9 // suspended
	if h := p.Sample(); h.PausedNs != 7_000_000_000 {
		t.Errorf("suspended for 7 s: %d ns", h.PausedNs)
	}
	if h := p.Sample(); h.PausedNs != 0 || h.ProcessCPU != 0 {
		t.Errorf("%+v", h)
	}
}

func TestHolds(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name                   string
		gap, cpu, waited, want int64
	}{
		{"on time", 10 * ms, 0, 0, 0},
		{"a core that woke up late", 24 * ms, 0, 0, 0},
		{"stopped", 85 * ms, 2 * ms, 0, 75 * ms},
		{"others took its core in turn", 14 * ms, 7 * ms, 0, 0},
		{"others kept its core", 20 * ms, 4 * ms, 0, 10 * ms},
		{"another core was its own", 20 * ms, 11 * ms, 0, 0},
		{"stopped, and no core at once", 105 * ms, 0, 20 * ms, 75 * ms},
		{"no core", 110 * ms, 0, 98 * ms, 0},
		{"busy with something else", 110 * ms, 80 * ms, 0, 0},
		{"beat's business", 600 * ms, 0, 0, 0},
	} {
		if got := held(c.gap, c.cpu, c.waited); got != c.want {
			t.Errorf("%s: held for %d ns, want %d", c.name, got, c.want)
		}
	}
}

// A process that can't open files learns nothing. Later values are correct, because times that can't be read don't
// count as 0.
func TestWhatCannotBeReadIsCountedOnceItCan(t *testing.T) {
	m, p := newMachine()
	m.put("proc/stat", "cpu0 0 0 0 100 0 0 0 10\ncpu2 0 0 0 100 0 0 0 10\n")
	p.coresNs(0, 0)
	all := m.files
	for range 3 {
		m.run(p, 1000, 100, 10)
		p.s.files = refusing{}
		if h := p.Sample(); h.RunQueueNs != 0 || h.StealNs != 0 || h.OthersNs != 0 || h.CgroupThrottledNs != 0 {
			t.Errorf("nothing could be read, and yet: %+v", h)
		}
	}
	p.s.files = all
	m.put("proc/self/task/10/schedstat", "900 100 4\n")
	m.put("proc/stat", "cpu0 0 0 0 300 0 0 0 20\ncpu2 0 0 0 300 0 0 0 20\n")
	m.run(p, 1000, 100, 10)
	h := p.Sample()
	if h.RunQueueNs != 30 {
		t.Errorf("the thread waited 30 ns more: %d", h.RunQueueNs)
	}
	// Two cores for 4 s: 4 s idle, 0.2 s stolen by the hypervisor, 0.4 s used by this process.
	if h.StealNs != 200e6 || h.OthersNs != 3400e6 {
		t.Errorf("steal %d ns, others %d ns", h.StealNs, h.OthersNs)
	}
}

// refusing is a file system in which nothing can be opened, because the process has no descriptor left.
type refusing struct{}

func (refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
}

func TestThrottledIsRead(t *testing.T) {
	if n := throttled("nr_periods 1\nthrottled_time 123\n"); n != 123 {
		t.Errorf("%d ns", n)
	}
	if n := throttled("throttled_usec x\nthrottled_usec -1\n"); n != 0 {
		t.Errorf("%d ns", n)
	}
}

func TestLongestPause(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{5, 2, 1}, Buckets: []float64{0, 1e-6, 1e-3, 1e300}}
	for _, c := range []struct {
		before []uint64
		want   int64
	}{{nil, 1_000_000}, {[]uint64{5, 1, 1}, 1_000_000}, {[]uint64{4, 2, 1}, 1000}, {[]uint64{5, 2, 1}, 0},
		{[]uint64{5, 2, 0}, 1_000_000}} {
		if got := longest(h, c.before); got != c.want {
			t.Errorf("before %v: %d ns, want %d", c.before, got, c.want)
		}
	}
}

func TestThisProcess(t *testing.T) {
	p := Start(nil)
	defer p.Stop()
	p.Sample()
	text := ""
	for i := range 20_000 {
		text += fmt.Sprint(i)[:1]
	}
	runtime.GC()
	h := p.Sample()
	if h.GCCycles == 0 || h.GCPauseNsMax <= 0 || h.GCCPUNs <= 0 || h.ProcessCPU <= 0 || len(text) == 0 {
		t.Errorf("%+v", h)
	}
	if runtime.GOOS == "linux" && h.RSSBytes < 1<<20 {
		t.Errorf("%+v", h)
	}
}

func FuzzProc(f *testing.F) {
	f.Add("throttled_usec 7\n", "1 2 3", "cpu0 1 2 3 4 5 6 7 8\n")
	f.Fuzz(func(t *testing.T, stat, line, cores string) {
		if _, found := coreTimesOf([]byte(cores), []int{0}); found < 0 {
			t.Errorf("%q", cores)
		}
		if n := throttled(stat); n < 0 {
			t.Errorf("%q is %d ns", stat, n)
		}
		field([]byte(line), 1)
	})
}

const stat = `cpu  100 0 100 5000 50 0 0 7 0 0
cpu0 10 0 10 %d 20 0 0 %d 0 0
cpu1 90 0 90 900 10 0 0 5000 0 0
cpu2 0 0 0 %d 20 5 5 %d 0 0
intr 12345
`

// The two cores provide 2 s per second. This process used 0.5, its threads of idle priority 0.2, the hypervisor 0.4,
// and 0.3 were idle. The remaining 0.6 were used by others.
func TestWhoHadTheCores(t *testing.T) {
	m, p := newMachine()
	m.put("proc/stat", fmt.Sprintf(stat, 1000, 50, 2000, 60))
	p.Sample()
	m.run(p, 1000, 500, 10)
	m.idleNs += 200e6
	m.put("proc/stat", fmt.Sprintf(stat, 1010, 70, 2020, 80))
	if h := p.Sample(); h.StealNs != 400e6 || h.OthersNs != 600e6 {
		t.Errorf("steal %d ns, others %d ns", h.StealNs, h.OthersNs)
	}
	m.run(p, 1000, 1500, 10)
	m.put("proc/stat", fmt.Sprintf(stat, 1110, 70, 2020, 80))
	if h := p.Sample(); h.StealNs != 0 || h.OthersNs != 0 {
		t.Errorf("more was accounted for than there is, and yet: steal %d ns, others %d ns", h.StealNs, h.OthersNs)
	}
	m.run(p, 1000, 0, 10)
	m.put("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 x\n") // inconsistent figures, with no valid core
	if h := p.Sample(); h.StealNs != 0 || h.OthersNs != 0 {
		t.Errorf("a core isn't listed, and yet: steal %d ns, others %d ns", h.StealNs, h.OthersNs)
	}
}

func TestEventLoopsAreToldFromOtherThreads(t *testing.T) {
	m, p := newMachine()
	m.put("proc/self/task/20/comm", "brunt loop\n")
	m.put("proc/self/task/20/schedstat", "1 0 1\n")
	m.put("proc/self/task/10/comm", "brunt\n")
	p.Sample()
	m.put("proc/self/task/10/schedstat", "900 100 4\n")
	m.put("proc/self/task/20/schedstat", "900 8 4\n")
	if h := p.Sample(); h.RunQueueNs != 38 || h.LoopRunQueueNs != 8 {
		t.Errorf("all waited %d ns, the loop %d", h.RunQueueNs, h.LoopRunQueueNs)
	}
}

func TestSwitchesAreCounted(t *testing.T) {
	m, p := newMachine()
	m.now.voluntary, m.now.involuntary = 12, 3
	if h := p.Sample(); h.VoluntarySwitches != 12 || h.InvoluntarySwitches != 3 {
		t.Errorf("%+v", h)
	}
	if h := p.Sample(); h.VoluntarySwitches != 0 || h.InvoluntarySwitches != 0 {
		t.Errorf("%+v", h)
	}
}

// The watchdog reads such lines a hundred times a second.
func TestNumbersOfALineAreReadWithoutAllocating(t *testing.T) {
	line := []byte("  12 345\t6789012345678901234\n")
	for i, want := range []uint64{12, 345, 6789012345678901234, 0} {
		if got := field(line, i); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { field(line, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
