// Package clusters_test compares the account of outages with an independent observer, on clusters whose leaders are
// killed and stopped.
package clusters_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// The interval at which the observer writes to each node, and the timeout of a write.
const (
	observeEvery    = 5 * time.Millisecond
	observeDeadline = 100 * time.Millisecond
)

// observer writes to every node of a cluster on a schedule, over its own connections, and independently of the results
// of earlier writes.
type observer struct {
	began  time.Time
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	ticks []bool // whether any node accepted the write of that tick
}

// observe starts the writing. write is called for node i with a context that ends at the deadline.
func observe(t *testing.T, nodes int, write func(ctx context.Context, node, tick int) error) *observer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &observer{began: time.Now(), cancel: cancel}
	t.Cleanup(cancel)
	o.wg.Go(func() {
		for tick := 0; ctx.Err() == nil; tick++ {
			time.Sleep(time.Until(o.began.Add(time.Duration(tick) * observeEvery)))
			o.mu.Lock()
			o.ticks = append(o.ticks, false)
			o.mu.Unlock()
			for node := range nodes {
				o.wg.Go(func() {
					within, done := context.WithTimeout(context.Background(), observeDeadline)
					defer done()
					if write(within, node, tick) == nil && within.Err() == nil {
						o.mu.Lock()
						o.ticks[tick] = true
						o.mu.Unlock()
					}
				})
			}
		}
	})
	return o
}

// end stops the writing and returns the longest time in which no node accepted a write.
func (o *observer) end() (longest time.Duration) {
	o.cancel()
	o.wg.Wait()
	for from := slices.Index(o.ticks, false); from >= 0; {
		to := from
		for to < len(o.ticks) && !o.ticks[to] {
			to++
		}
		longest = max(longest, time.Duration(to-from)*observeEvery)
		next := slices.Index(o.ticks[to:], false)
		if next < 0 {
			break
		}
		from = to + next
	}
	return longest
}
