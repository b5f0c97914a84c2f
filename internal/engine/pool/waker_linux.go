package pool

import (
	"context"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
)

// longestSleep bounds a single sleep of until, so that it notices the end of its context.
const longestSleep = 50_000_000

// wakeExactly makes the thread, which the caller has locked, wake at the moment that it asked for: the
// runtime's own timers round waits below 1 ms up to 1 ms, so it sleeps in the kernel with a timer slack of
// 1 ns. A refusal only makes sleeps less exact, and the lag histogram shows that.
func wakeExactly() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// until sleeps until a moment on the run's clock. It returns true at the moment at, or false when ctx has ended. The
// last spin nanoseconds are
// waited for without sleeping.
func until(ctx context.Context, clock engine.Clock, at, spin int64) bool {
	for ctx.Err() == nil {
		left := at - clock.Now()
		if left <= 0 {
			return true
		}
		if left > spin {
			ts := unix.NsecToTimespec(min(left-spin, longestSleep))
			// EINTR only means that the loop looks at the clock again.
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
		}
	}
	return false
}
