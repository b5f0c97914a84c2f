//go:build !linux

package engine

import (
	"context"
	"time"

	"brunt/internal/driver"
	"brunt/internal/tier"
)

// wakeExactly does nothing here.
func wakeExactly() {}

// until sleeps until a moment on the run's clock. It returns true at the moment at, or false when ctx has ended. The last spin nanoseconds are
// waited for without sleeping.
func until(ctx context.Context, clock tier.Clock, at, spin int64) bool {
	for ctx.Err() == nil {
		left := at - clock.Now()
		if left <= 0 {
			return true
		}
		if left > spin {
			driver.Sleep(ctx, min(time.Duration(left-spin), 100*time.Millisecond))
		}
	}
	return false
}
