package runner

import (
	"context"

	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/fill"
)

// Hooks are called during a load, in this order, by what drives it: a Runner for a load that is sent from here, the
// coordinator for one that workers send, a series for each of its loads. Each may be nil.
type Hooks struct {
	// Before the load.

	Prepare  func(context.Context) error // by commands, before the servers are queried
	Waiting  func(error)                 // once if Open waits for an address, with the reason
	Attach   func(*workload.Workload)    // when the plan is compiled, before anything is sent
	Loading  func(fill.Progress)         // progress of filling tables
	Checking func(done, all int)         // progress of checking many statements
	Began    func(*record.Run)           // when the sessions are connected, or the workers are ready
	// Control is called by commands' loads, before the servers are queried, with functions that end the load for a reason:
	// end awaits the answers under way, abort doesn't. Both may be called at any time, and more than once. The record
	// says that the run stopped itself.
	Control func(end, abort func(why message.Message))
	// Stop, if not nil, is called when a user interrupts the load, by commands' loads that are sent from here. It may
	// return true if the sessions themselves end the load, and then calls over when they have. Otherwise, and with the
	// second interrupt, the load ends as without it.
	Stop func(over func()) (later bool)
	// Ready is called when everything is ready for the first phase, which begins when it returns. Its error ends the run
	// without a load. If workers send the load, the coordinator calls it when all of them are ready.
	Ready func(context.Context) error

	// During the load.

	Notice func(record.Warning)     // each warning when it arises, before the load as well
	Failed func(record.ErrorSample) // each failed attempt, concurrently
	Hint   func(record.Hint)        // each change that is seen, before Sinks receive its interval
	Sinks  []measure.Sink           // receive each interval, in addition to the record
	// Enough reports after each interval, once Sinks have it, whether the current phase must end. It is for loads that
	// this process sends.
	Enough func(*measure.Interval) bool

	// Dialed receives how long each connection of the load took to open, ns. It is called concurrently.
	Dialed func(ns int64)

	// After the load.

	Sent   func(context.Context)                   // when the load is over (of all workers), before writes are read back
	Ended  func()                                  // when writes have been read back
	Result func(run *record.Run, dir string) error // by commands; prints the result
	Exit   func(*record.Run) error                 // by commands: the error to exit with; nil means that of the report
	Close  func() error                            // by commands, at the very end
}

// began calls Began.
func (h *Hooks) began(run *record.Run) {
	if h.Began != nil {
		h.Began(run)
	}
}

// CallReady calls Ready.
func (h *Hooks) CallReady(ctx context.Context) error {
	if h.Ready == nil {
		return nil
	}
	return h.Ready(ctx)
}

// CallSent calls Sent.
func (h *Hooks) CallSent(ctx context.Context) {
	if h.Sent != nil {
		h.Sent(ctx)
	}
}

// ended calls Ended.
func (h *Hooks) ended() {
	if h.Ended != nil {
		h.Ended()
	}
}

// OfTables returns the hooks for a run that only creates and fills the tables of later loads.
func (h *Hooks) OfTables() Hooks {
	return Hooks{Waiting: h.Waiting, Loading: h.Loading, Checking: h.Checking, Notice: h.Notice, Failed: h.Failed,
		Hint: h.Hint}
}
