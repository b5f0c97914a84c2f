package self

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

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

// usage is what the process and all its threads have used, those that have ended included.
func usage() used {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return used{}
	}
	return used{cpuNs: u.Utime.Nano() + u.Stime.Nano(), voluntary: uint64(u.Nvcsw), involuntary: uint64(u.Nivcsw)}
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
