package pool

import (
	"context"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
)

// longestSleep limits a single sleep of until, so that it notices the end of its context.
const longestSleep = 50_000_000

// sleepPrecisely makes the thread, which the caller has locked, wake at the requested time. The runtime's own timers
// round waits below 1 ms up to 1 ms, so the thread sleeps in the kernel with a timer slack of 1 ns. If the kernel
// refuses, sleeps are less exact, which the lag histogram shows.
func sleepPrecisely() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// until sleeps until the time at on the run's clock. It returns true then, or false if ctx has ended. It busy-waits for
// the last spin nanoseconds.
func until(ctx context.Context, clock engine.Clock, at, spin int64) bool {
	for ctx.Err() == nil {
		left := at - clock.Now()
		if left <= 0 {
			return true
		}
		if left > spin {
			ts := unix.NsecToTimespec(min(left-spin, longestSleep))
			// After EINTR the loop reads the clock again.
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
		}
	}
	return false
}
