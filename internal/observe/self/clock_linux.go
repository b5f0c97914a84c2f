package self

import (
	"math/bits"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clocks are the one that stops while the machine is suspended and the one that doesn't.
func clocks() (monotonic, boot func() int64) {
	start := time.Now() // whose clock is CLOCK_MONOTONIC, and is read without a system call
	return func() int64 { return int64(time.Since(start)) }, func() int64 { return clock(unix.CLOCK_BOOTTIME) }
}

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// usage is what the process and all its threads have used, those that have ended included.
func usage() used {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return used{}
	}
	return used{cpuNs: u.Utime.Nano() + u.Stime.Nano(), voluntary: uint64(u.Nvcsw), involuntary: uint64(u.Nivcsw)}
}

// nap sleeps. It may end early.
//
// No place among GOMAXPROCS is left in a system call: the runtime's monitor takes such a place away, and then
// looks for more 50 000 times a second for a while. A hundred naps a second kept it at that, at 10 µs of CPU a
// request in an open load of 10 000/s. Where event loops have places to spare the thread keeps its own while it
// sleeps, so that it wakes without the runtime's scheduler; elsewhere the runtime's timer wakes it.
func nap(d time.Duration) {
	if runtime.GOMAXPROCS(0) <= runtime.NumCPU() {
		time.Sleep(d)
		return
	}
	t := unix.NsecToTimespec(int64(d))
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// waitedClock returns a clock of how long, in ns, the calling thread has waited for a core since it began: the
// second number of its schedstat (Linux, Documentation/scheduler/sched-stats.rst). Its file stays open until end,
// so that the clock goes on when the process can open no more files. A kernel that doesn't tell gets the benefit of
// the doubt: the thread has always waited.
func waitedClock() (waited func() int64, end func()) {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() int64 { return clock(unix.CLOCK_MONOTONIC) }, func() {}
	}
	last := int64(0)
	waited = func() int64 {
		var text [96]byte
		if n, err := unix.Pread(fd, text[:], 0); err == nil {
			last = max(last, int64(field(text[:n], 1)))
		}
		return last
	}
	return waited, func() { unix.Close(fd) }
}

// allowedCores are the numbers of the cores that the process may use.
func allowedCores() (cores []int) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	for core := range len(set) * bits.UintSize {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores
}
