//go:build !linux

package pool

import (
	"context"
	"time"

	"brunt/internal/protocol"
)

// sleepPrecisely does nothing here.
func sleepPrecisely() {}

// rest sleeps for ns at most.
func rest(ctx context.Context, ns int64) {
	protocol.Sleep(ctx, min(time.Duration(ns), 100*time.Millisecond))
}
