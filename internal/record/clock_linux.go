package record

import "golang.org/x/sys/unix"

// clockResolutionNs returns the resolution of the monotonic clock, or 0 if it is unknown.
func clockResolutionNs() int64 {
	var ts unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
