package runner

import (
	"time"

	"brunt/internal/load"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/schedule"
)

// Options say how a plan is run. The zero value sets up, runs and tears down, and keeps a record under
// record.DefaultRoot.
type Options struct {
	Recording Recording
	Tell      Listener
	Sinks     []measure.Sink // told of each interval beside the record

	NoSetup    bool          // neither create nor fill tables
	NoTeardown bool          // leave what the run created
	Force      bool          // fill tables that brunt didn't create
	Wait       time.Duration // for all addresses to answer; the load begins when they do, or if one does by then
	StartDown  bool          // begin although no address answers; for loads without SQL

	Part          schedule.Part // this machine's operations
	KeepCollector bool          // leave the garbage collector's target as it is: the process has other work
	PeakPerS      float64       // highest rate that Drive will be asked for, operations a second; 0: the plan's
}

// Recording says where a run's record goes, and what it says beside what happened.
type Recording struct {
	None    bool              // keep nothing on disk
	Root    string            // folder that holds bundles; "" means record.DefaultRoot
	Dir     string            // this run's bundle, instead of a name under Root
	Plan    []byte            // the resolved plan, without secrets
	Command []string          // the command line, without secrets
	Version string            // of brunt
	Extra   map[string]string // what a dialect wants kept
	Flags   map[string]string // see record.Run.Flags
}

// Listener is told of what happens while a run goes on. Each function may be nil.
type Listener struct {
	Waiting  func(error)              // once, that an address is waited for, and why
	Loading  func(load.Progress)      // how the filling of tables goes
	Checking func(done, all int)      // how the check of many statements goes
	Notice   func(record.Warning)     // each warning as it arises
	Failed   func(record.ErrorSample) // each failed attempt, concurrently
	Hint     func(record.Hint)        // each change seen, before Sinks are told of its interval
}
