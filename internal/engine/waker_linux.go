package engine

import (
	"context"

	"golang.org/x/sys/unix"

	"brunt/internal/tier"
)

// longestSleep bounds a single sleep of the waker, so that it notices the end of its context.
const longestSleep = 50_000_000

// waker sleeps until moments on the run's clock. The runtime's own timers round waits below 1 ms
// up to 1 ms, so the thread sleeps in the kernel with a timer slack of 1 ns.
type waker struct{}

// newWaker must be called on the locked thread that will sleep.
func newWaker() *waker {
	// A refusal only makes sleeps less exact, and the lag histogram shows that.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return &waker{}
}

// until returns true at the moment at, or false when ctx has ended. The last spin nanoseconds are
// waited for without sleeping.
func (*waker) until(ctx context.Context, clock tier.Clock, at, spin int64) bool {
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
