package self

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clocks returns, in ns, a clock that stops while the machine is suspended (monotonic) and one that doesn't (boot).
func clocks() (monotonic, boot func() int64) {
	start := time.Now() // time.Since uses CLOCK_MONOTONIC, which is read without a system call
	return func() int64 { return int64(time.Since(start)) }, func() int64 { return clock(unix.CLOCK_BOOTTIME) }
}

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// usage returns what all threads of the process have used, including those that have ended.
func usage() used {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return used{}
	}
	return used{cpuNs: u.Utime.Nano() + u.Stime.Nano(), voluntary: uint64(u.Nvcsw), involuntary: uint64(u.Nivcsw)}
}

// nap sleeps for d. It may return early.
//
// The sleep must not leave a P in a system call that the runtime knows of: the runtime's monitor retakes such a P
// and then polls 50 000 times a second for a while. At a hundred naps a second the monitor never slowed down,
// which cost 10 µs of CPU per request in an open load of 10 000/s. If the event loops have raised GOMAXPROCS above
// the number of cores, the thread therefore sleeps by a raw system call: it keeps its P and wakes without the
// runtime's scheduler. Otherwise it sleeps by the runtime's timer.
func nap(d time.Duration) {
	if runtime.GOMAXPROCS(0) <= runtime.NumCPU() {
		time.Sleep(d)
		return
	}
	t := unix.NsecToTimespec(int64(d))
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// waitedClock returns a clock of the time, in ns, that the calling thread has waited for a core since it
// started: the second number of its schedstat (Linux, Documentation/scheduler/sched-stats.rst). The file stays
// open until end is called, so that the clock still works when the process has run out of file descriptors. If
// the kernel doesn't provide the file, the clock advances as if the thread were always waiting.
func waitedClock() (waited func() int64, end func()) {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() int64 { return clock(unix.CLOCK_MONOTONIC) }, func() {}
	}
	last := int64(0)
	text := make([]byte, 96) // it is read a hundred times a second
	waited = func() int64 {
		if n, err := unix.Pread(fd, text, 0); err == nil {
			last = max(last, int64(field(text[:n], 1)))
		}
		return last
	}
	return waited, func() { unix.Close(fd) }
}
