package engine

import (
	"math"
	"testing"
	"time"
)

func TestRetryPauses(t *testing.T) {
	b := NewBackoff(1, 2)
	for _, c := range []struct {
		attempts int
		pause    time.Duration
		from, to int64
	}{{1, 0, 0, 1e6}, {2, 0, 0, 2e6}, {8, 0, 0, 128e6}, {80, 0, 0, 128e6}, {1, time.Second, 800e6, 1200e6}, {9, 1, 0, 1}} {
		least, most := int64(math.MaxInt64), int64(0)
		for range 1000 {
			ns := int64(b.Retry(c.attempts, c.pause))
			least, most = min(least, ns), max(most, ns)
		}
		if spread := (c.to - c.from) / 10; least < c.from || most > c.to || least > c.from+spread || most < c.to-spread-1 {
			t.Errorf("attempt %d, pause %v: %d to %d ns", c.attempts, c.pause, least, most)
		}
	}
}

func TestReconnectPauses(t *testing.T) {
	b := NewBackoff(3, 4)
	if d := b.Reconnect(0); d != 0 {
		t.Errorf("a pause of %v before the first attempt", d)
	}
	for _, c := range []struct {
		failures int
		from, to time.Duration
	}{{1, 25, 75}, {2, 25, 125}, {4, 25, 425}, {5, 25, 825}, {6, 25, 1025}, {1000, 25, 1025}} {
		least, most := time.Duration(math.MaxInt64), time.Duration(0)
		for range 1000 {
			d := b.Reconnect(c.failures) / time.Millisecond
			least, most = min(least, d), max(most, d)
		}
		if spread := (c.to - c.from) / 10; least < c.from || most > c.to || least > c.from+spread || most < c.to-spread-1 {
			t.Errorf("after %d failures: %d to %d ms, want %d to %d", c.failures, least, most, c.from, c.to)
		}
	}
}
