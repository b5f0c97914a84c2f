package session

import (
	"sync/atomic"

	"go.k6.io/k6/v2/lib"

	"brunt/internal/record"
)

// counters are what k6 and the modules report of the run as a whole.
type counters struct {
	requests   atomic.Bool  // an operation other than an iteration was recorded
	reports    atomic.Bool  // see ReportsRequests
	activeVUs  atomic.Int64 // as k6 reported last
	lastNs     atomic.Int64 // the last time at which something ended
	iterations atomic.Uint64
	dropped    atomic.Uint64
	threw      atomic.Uint64 // iterations that ended with an exception
	state      atomic.Pointer[lib.ExecutionState]
}

// Requested reports whether an operation other than a bare iteration was recorded.
func (c *counters) Requested() bool { return c.requests.Load() }

// ActiveVUs sets the number of active VUs, as k6 reports it.
func (c *counters) ActiveVUs(n int64) { c.activeVUs.Store(n) }

// Threw counts an iteration that ended with an exception.
func (c *counters) Threw() { c.threw.Add(1) }

// counted returns the numbers of iterations so far.
func (c *counters) counted() *record.Iterations {
	return &record.Iterations{Done: c.iterations.Load(), Dropped: c.dropped.Load(), Threw: c.threw.Load()}
}

// State sets k6's execution state. Only the first call counts; es may be nil.
func (c *counters) State(es *lib.ExecutionState) {
	if es != nil {
		c.state.CompareAndSwap(nil, es)
	}
}

// touch records that there was load at ns.
func (c *counters) touch(ns int64) {
	for {
		last := c.lastNs.Load()
		if ns <= last || c.lastNs.CompareAndSwap(last, ns) {
			return
		}
	}
}
