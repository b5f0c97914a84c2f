package pool

import (
	"context"

	"golang.org/x/sys/unix"
)

// longestSleep limits a single sleep of until, so that it notices the end of its context.
const longestSleep = 50_000_000

// sleepPrecisely makes the thread, which the caller has locked, wake at the requested time. The runtime's own timers
// round waits below 1 ms up to 1 ms, so the thread sleeps in the kernel with a timer slack of 1 ns. If the kernel
// refuses, sleeps are less exact, which the lag histogram shows.
func sleepPrecisely() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// rest sleeps for ns at most.
func rest(_ context.Context, ns int64) {
	ts := unix.NsecToTimespec(min(ns, longestSleep))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // after EINTR, until reads the clock again
}
