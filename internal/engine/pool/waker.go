//go:build !linux

package pool

import (
	"context"
	"time"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

// wakeExactly does nothing here.
func wakeExactly() {}

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
			protocol.Sleep(ctx, min(time.Duration(left-spin), 100*time.Millisecond))
		}
	}
	return false
}
