//go:build !linux

package engine

import (
	"context"
	"time"

	"brunt/internal/driver"
	"brunt/internal/tier"
)

// waker sleeps until moments on the run's clock.
type waker struct{}

func newWaker() *waker { return &waker{} }

// until returns true at the moment at, or false when ctx has ended. The last spin nanoseconds are
// waited for without sleeping.
func (*waker) until(ctx context.Context, clock tier.Clock, at, spin int64) bool {
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
