package record

import "golang.org/x/sys/unix"

// clockResolutionNs is the resolution of the monotonic clock.
func clockResolutionNs() int64 {
	var ts unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
