//go:build !linux

package pool

import (
	"context"
	"time"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

// sleepPrecisely does nothing here.
func sleepPrecisely() {}

// until sleeps until the time at on the run's clock. It returns true then, or false if ctx has ended. It busy-waits for
// the last spin nanoseconds.
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
