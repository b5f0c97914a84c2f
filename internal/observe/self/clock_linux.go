package self

import "golang.org/x/sys/unix"

// clocks are the one that stops while the machine is suspended and the one that doesn't.
func clocks() (monotonic, boot func() int64) {
	return func() int64 { return clock(unix.CLOCK_MONOTONIC) }, func() int64 { return clock(unix.CLOCK_BOOTTIME) }
}

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return t.Nano()
}

func cpuNs() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
