// Package tier is the contract that the two ways of driving sessions share: goroutines over
// client libraries (package engine) and event loops over codecs (package wire). The engine runs
// a plan's stages on whichever it chose, and both leave the same samples.
package tier

import (
	"context"
	"time"

	"brunt/internal/driver"
	"brunt/internal/measure"
	"brunt/internal/schedule"
	"brunt/internal/workload"
)

// Clock is a run's monotonic clock.
type Clock struct{ start time.Time }

// NewClock returns a clock that reads 0 at start, which must carry a monotonic reading.
func NewClock(start time.Time) Clock { return Clock{start} }

// Now is nanoseconds since the clock's start. It never steps.
func (c Clock) Now() int64 { return int64(time.Since(c.start)) }

// Unix is the wall-clock time, in nanoseconds since the epoch, at which the clock read ns.
func (c Clock) Unix(ns int64) int64 { return c.start.UnixNano() + ns }

// Config is what a fleet of sessions needs.
type Config struct {
	Workload *workload.Workload
	Driver   driver.Driver
	Targets  []driver.Target // one an address
	Sessions int             // over all addresses
	// Assign is the address, from 0, that session number session belongs to (see package balance);
	// nil means in turn.
	Assign    func(session int) (address int)
	Collector *measure.Collector
	Clock     Clock
	OnError   func(ErrorEvent) // told of every failure; must be quick and safe for concurrent use

	OperationTimeout time.Duration // of a whole operation, retries included
	ConnectTimeout   time.Duration
	Retries          int           // further attempts after a retryable failure
	DropLate         bool          // give up arrivals that are later than DropAfter instead of queueing them
	DropAfter        time.Duration //
	TimingTolerance  time.Duration // codec tier: how late a send may be, to be sent with others
	Spin             time.Duration // busy-wait before an intended start
	Pipeline         int           // codec tier: requests in flight a session; ≥ 1
	Loops            int           // codec tier: 0 means choose
	IOUring          bool          // codec tier: use io_uring if the kernel has it
	ClosedOnly       bool          // codec tier: no stage is open, so that the kernel needn't keep times of arrival
	RetryErrors      bool          // library tier: Retries is for every failure
	RetryPause       time.Duration // before a further attempt, ±20 %; 0 means 1 ms doubling
}

// AddressOf is the address that a session belongs to.
func (c *Config) AddressOf(session int) int {
	if c.Assign == nil {
		return session % len(c.Targets)
	}
	return c.Assign(session)
}

// ErrorEvent is one failed attempt, or a failed connection (Operation −1).
type ErrorEvent struct {
	AtNs      int64
	Operation int
	Index     uint64
	Address   int
	Attempt   int
	Failure   driver.Failure
}

// Fleet is a set of sessions over all addresses. Sessions that lose their connection return by
// themselves, with jittered backoff, for as long as the fleet is open.
type Fleet interface {
	// Connect opens all sessions. It succeeds if at least one address could be reached and
	// accepted the program; otherwise the error is the first *driver.Error met.
	Connect(ctx context.Context) error
	// Run carries out one stage. It returns when the stage is over and every operation begun has
	// finished, or soon after ctx is done: then nothing new is sent, and what is in flight gets
	// up to its timeout or until hard is closed. next is the number of the first operation that
	// a following stage may use. Arrivals that fell due in an open stage but could not be sent
	// by its end are sent late for at most OperationTimeout, then counted as dropped.
	Run(ctx context.Context, hard <-chan struct{}, stage schedule.Stage) (next uint64, err error)
	// Close closes all sessions.
	Close()
}
