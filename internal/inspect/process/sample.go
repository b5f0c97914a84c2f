package process

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/cgroup"
)

// observed is a process with its descendants, and what has been seen of them.
type observed struct {
	Target
	proc    string // /proc
	root    string // the machine's root directory, for control groups
	self    int    // this process, whose time isn't that of others
	started uint64

	threads map[int]*thread
	members map[int]*member
	sockets [2]socketTable
	peers   peers
	buffer  []byte // for files
	begun   bool   // the threads that existed at the beginning are known
	gone    bool

	now, sum totals // of the current interval, and of all measured ones
	last     machine
	quota    uint64 // time that a CPU quota stopped it, at the last reading, us
	sleeps   map[sleep]int
}

// totals are sums over a time.
type totals struct {
	length    time.Duration
	inFlight  float64 // ns, summed over requests
	samples   int
	inDisk    int // threads in uninterruptible sleep, summed over the samples
	diskSeen  int // samples with at least one
	cpuNs     uint64
	queueNs   uint64
	read      uint64 // bytes
	written   uint64
	unread    queues
	others    float64 // cores × s
	diskBusy  float64 // of the busiest disk, s
	diskBytes float64 // of all disks
	stolen    float64
	throttled time.Duration
}

func (t *totals) add(o *totals) {
	t.length += o.length
	t.inFlight += o.inFlight
	t.samples, t.inDisk, t.diskSeen = t.samples+o.samples, t.inDisk+o.inDisk, t.diskSeen+o.diskSeen
	t.cpuNs, t.queueNs = t.cpuNs+o.cpuNs, t.queueNs+o.queueNs
	t.read, t.written = t.read+o.read, t.written+o.written
	t.unread.add(&o.unread)
	t.others, t.stolen = t.others+o.others, t.stolen+o.stolen
	t.diskBusy, t.diskBytes = t.diskBusy+o.diskBusy, t.diskBytes+o.diskBytes
	t.throttled += o.throttled
}

// machine are the machine's and the process's times at a reading.
type machine struct {
	busy, stolen uint64 // clock ticks
	disks        map[string]diskUse
}

// thread is a thread of an observed process.
type thread struct {
	pid            int
	name           string
	state, times   procFile // its stat and schedstat
	path           string
	cpuNs, queueNs uint64 // at the last reading
	now, sum       use
	seen           bool      // at the latest look at the list
	ran            bool      // between the last two readings
	last           time.Time // the latest reading before which it ran, or when it was met
	asleep         bool      // uninterruptibly, at the latest sample
}

// awake is how long a thread is sampled after it has run. Some threads write to the disk once a second.
const awake = 3 * time.Second

// mayWait reports whether a thread may wait for the disk now. One that hasn't run for some time only may if it did so
// at the latest sample.
func (t *thread) mayWait(now time.Time) bool {
	return t.seen && (t.asleep || t.ran || now.Sub(t.last) < awake)
}

func (t *thread) close() {
	t.state.close()
	t.times.close()
}

// use is what a thread used in a time.
type use struct {
	cpuNs, queueNs uint64
	inDisk         int // samples
}

// member is one process of the family.
type member struct {
	read, written uint64
	unreadable    bool
	seen          bool
}

// sleep is the thread and the kernel's function of an uninterruptible sleep.
type sleep struct{ thread, in string }

// mostOpen limits the threads whose files are kept open.
const mostOpen = 256

func newObserved(t Target, proc, root string) *observed {
	o := &observed{Target: t, proc: proc, root: root, self: os.Getpid(), threads: map[int]*thread{},
		members: map[int]*member{}, sleeps: map[sleep]int{}}
	o.peers = peers{proc: proc, server: t.PID, self: o.self}
	for i, name := range []string{"tcp", "tcp6"} {
		o.sockets[i].file = procFile{path: filepath.Join(o.path(t.PID, "net"), name), keep: true, long: true}
	}
	if st, ok := readStat(o.path(t.PID, "stat")); ok {
		o.started = st.start
	}
	if len(t.Ports) == 0 {
		o.Ports = portsOf(proc, family(proc, t.PID))
	}
	return o
}

func (o *observed) path(pid int, name string) string {
	return filepath.Join(o.proc, strconv.Itoa(pid), name)
}

// portsOf returns the ports at which processes listen.
func portsOf(proc string, pids []int) (ports []uint16) {
	all := listeners(filepath.Join(proc, strconv.Itoa(pids[0])))
	mine := map[string]bool{}
	for _, pid := range pids {
		for _, inode := range sockets(proc, pid) {
			mine[inode] = true
		}
	}
	for _, l := range all {
		if mine[l.inode] {
			ports = append(ports, l.port)
		}
	}
	return ports
}

// refresh looks for new processes and threads, and forgets those that have ended.
func (o *observed) refresh() {
	if st, ok := readStat(o.path(o.PID, "stat")); !ok || st.start != o.started || st.state == 'Z' {
		o.gone = true
		return
	}
	for _, m := range o.members {
		m.seen = false
	}
	for _, t := range o.threads {
		t.seen = false
	}
	for _, pid := range family(o.proc, o.PID) {
		if pid == o.self {
			continue
		}
		if m := o.members[pid]; m == nil {
			o.members[pid] = &member{}
		}
		o.members[pid].seen = true
		for _, tid := range numbersIn(o.path(pid, "task")) {
			t := o.threads[tid]
			if t == nil {
				t = o.meet(pid, tid)
			}
			t.seen = true
		}
	}
	for pid, m := range o.members {
		if !m.seen {
			delete(o.members, pid)
		}
	}
	for _, t := range o.threads {
		if !t.seen {
			t.close()
		}
	}
}

// meet adds a thread. What it used before the beginning doesn't count.
func (o *observed) meet(pid, tid int) *thread {
	t := &thread{pid: pid, path: filepath.Join(o.proc, strconv.Itoa(pid), "task", strconv.Itoa(tid)), last: time.Now()}
	name, _ := os.ReadFile(filepath.Join(t.path, "comm"))
	t.name = strings.TrimSpace(string(name))
	t.state.path, t.times.path = filepath.Join(t.path, "stat"), filepath.Join(t.path, "schedstat")
	t.state.keep, t.times.keep = len(o.threads) < mostOpen, len(o.threads) < mostOpen
	if !o.begun {
		t.cpuNs, t.queueNs, _ = parseSchedstat(t.times.read(&o.buffer))
	}
	o.threads[tid] = t
	return t
}

// sample looks at the states of the threads that may wait for the disk.
func (o *observed) sample() {
	o.now.samples++
	found := false
	now := time.Now()
	for _, t := range o.threads {
		if !t.mayWait(now) {
			continue
		}
		if t.asleep = stateOf(t.state.read(&o.buffer)) == 'D'; !t.asleep {
			continue
		}
		in, _ := os.ReadFile(filepath.Join(t.path, "wchan"))
		where := strings.TrimSpace(string(in))
		if where == "0" {
			where = ""
		}
		if !isDisk(where) {
			continue
		}
		found = true
		t.now.inDisk++
		o.now.inDisk++
		o.sleeps[sleep{t.name, where}]++
	}
	if found {
		o.now.diskSeen++
	}
}

// isDisk reports whether a thread that sleeps uninterruptibly in a function of the kernel may wait for a disk. The
// other functions wait for a child that has just been forked, for the memory map of the process, or in the kernel's
// locks.
func isDisk(function string) bool {
	for _, other := range []string{"vfork", "kernel_clone", "do_fork", "rwsem", "mutex", "futex", "coredump", "ptrace"} {
		if strings.Contains(function, other) {
			return false
		}
	}
	return true
}

// count reads all counters and adds what has passed since the last reading to the current interval.
func (o *observed) count() {
	o.refresh()
	if o.gone {
		return
	}
	now := time.Now()
	for _, t := range o.threads {
		if !t.seen {
			continue
		}
		cpu, queue, ok := parseSchedstat(t.times.read(&o.buffer))
		if t.ran = ok && (cpu != t.cpuNs || queue != t.queueNs); t.ran {
			t.last = now
		}
		if !ok || cpu < t.cpuNs || queue < t.queueNs {
			continue
		}
		if o.begun {
			t.now.cpuNs, t.now.queueNs = t.now.cpuNs+cpu-t.cpuNs, t.now.queueNs+queue-t.queueNs
			o.now.cpuNs, o.now.queueNs = o.now.cpuNs+cpu-t.cpuNs, o.now.queueNs+queue-t.queueNs
		}
		t.cpuNs, t.queueNs = cpu, queue
	}
	o.countIO()
	if q := o.throttledUs(); o.begun && q >= o.quota {
		o.now.throttled += time.Duration(q-o.quota) * time.Microsecond
		o.quota = q
	} else {
		o.quota = q
	}
	if o.begun && len(o.Ports) > 0 {
		o.now.unread.look(o.sockets[:], o.Ports, &o.buffer, o.peers.of)
	}
	o.begun = true
}

func (o *observed) countIO() {
	for pid, m := range o.members {
		data, err := os.ReadFile(o.path(pid, "io"))
		if m.unreadable = err != nil; m.unreadable {
			continue
		}
		read, written := parseIO(data)
		if o.begun && read >= m.read && written >= m.written {
			o.now.read, o.now.written = o.now.read+read-m.read, o.now.written+written-m.written
		}
		m.read, m.written = read, written
	}
}

// throttledUs returns the time that CPU quotas have stopped the process's control groups, in us.
func (o *observed) throttledUs() (us uint64) {
	groups, err := os.ReadFile(o.path(o.PID, "cgroup"))
	if err != nil {
		return 0
	}
	for _, folder := range cgroup.Folders(string(groups), "cpu") {
		data, err := os.ReadFile(filepath.Join(o.root, cgroup.Root, folder, "cpu.stat"))
		if err != nil {
			continue
		}
		us = max(us, parseThrottled(data))
	}
	return us
}

// parseThrottled returns the time in a group's cpu.stat that a quota stopped it, in us: throttled_usec in version 2 of
// control groups, throttled_time in ns in version 1.
func parseThrottled(data []byte) (us uint64) {
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		switch string(name) {
		case "throttled_usec":
			us = number(value)
		case "throttled_time":
			us = number(value) / 1000
		}
	}
	return us
}

// others adds the time that all processes used: this one, the generator, included. That of the observed one is
// subtracted in record.
func (o *observed) others(m machine) {
	if o.last.busy > 0 && m.busy >= o.last.busy {
		used := float64(m.busy-o.last.busy) / ticksPerSecond
		o.now.others += used
		o.now.stolen += float64(m.stolen-min(o.last.stolen, m.stolen)) / ticksPerSecond
	}
	most := 0.0
	for name, now := range m.disks {
		if before, ok := o.last.disks[name]; ok && now.busyMs >= before.busyMs && now.bytes >= before.bytes {
			most = max(most, float64(now.busyMs-before.busyMs)/1000)
			o.now.diskBytes += float64(now.bytes - before.bytes)
		}
	}
	o.now.diskBusy += most
	o.last = m
}

// close ends the current interval. One that isn't measured is forgotten.
func (o *observed) close(measured bool, length time.Duration, inFlight float64) {
	if measured {
		o.now.length, o.now.inFlight = length, inFlight
		o.sum.add(&o.now)
	}
	o.now = totals{}
	for tid, t := range o.threads {
		if measured {
			t.sum.cpuNs, t.sum.queueNs = t.sum.cpuNs+t.now.cpuNs, t.sum.queueNs+t.now.queueNs
			t.sum.inDisk += t.now.inDisk
		}
		t.now = use{}
		if !t.seen && t.sum == (use{}) {
			delete(o.threads, tid)
		}
	}
	if !measured {
		clear(o.sleeps)
	}
}

// end closes the files.
func (o *observed) end() {
	for _, t := range o.threads {
		t.close()
	}
	for i := range o.sockets {
		o.sockets[i].file.close()
	}
}

// cores returns the number of cores of the machine.
func cores() float64 { return float64(runtime.NumCPU()) }
