package tier

import (
	"math/rand/v2"
	"time"
)

// Pauses after connections that couldn't be made double between these.
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = time.Second
)

// Backoff draws the pauses before further attempts. It is not safe for concurrent use.
type Backoff struct{ rand *rand.Rand }

// NewBackoff returns pauses that are a function of both numbers.
func NewBackoff(seed, stream uint64) Backoff {
	return Backoff{rand.New(rand.NewPCG(seed, stream))}
}

// Retry is the pause after so many failed attempts at an operation, at least 1: the one given ±20 %,
// or else 1 ms doubling to 128 ms, with full jitter.
func (b Backoff) Retry(attempts int, pause time.Duration) time.Duration {
	if pause > 0 {
		return pause*4/5 + time.Duration(b.rand.Int64N(int64(pause)*2/5+1))
	}
	return time.Duration(b.rand.Int64N(int64(time.Millisecond) << min(attempts-1, 7)))
}

// Reconnect is the pause before an attempt to connect after so many failed ones in a row: none
// before the first, then 25 to 75 ms doubling up to a second, with full jitter, so that a server's
// return is soon noticed.
func (b Backoff) Reconnect(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(reconnectMin<<min(failures, 16), 2*reconnectMax)
	return time.Duration(b.rand.Int64N(int64(d)/2)) + reconnectMin/2
}
