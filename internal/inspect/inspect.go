// Package inspect asks servers about themselves while a load runs against them: a snapshot of their
// statistics before, samples in the meantime, what has changed after, and what follows from it. What is asked
// of which server is the rooms' below it.
package inspect

import (
	"context"
	"time"

	"brunt/internal/record"
)

// Inspector asks one server. Its methods are called by one goroutine, in the order Begin, any number of
// Snapshot, Mark and Sample, End, Close. Contexts bound their time. Close may also come alone.
type Inspector interface {
	// Name is what the user called the server, without secrets.
	Name() string
	// Begin connects and takes the first snapshot. Its errors are the user's: one line that says what to do.
	Begin(ctx context.Context) error
	// Snapshot notes the server's statistics as a place at which a phase may end.
	Snapshot(ctx context.Context) error
	// Mark ends a phase at the last snapshot.
	Mark(phase Phase)
	// Sample looks at what sessions do at the moment.
	Sample(ctx context.Context, at time.Duration) error
	// End ends the last phase now and says what came of it all. Only then it looks closer: it explains
	// statements, and reads catalogs. It returns what is known also with an error.
	End(ctx context.Context, last Phase, load Load) (*record.Inspection, error)
	Close()
}

// Phase is a part of the run's load.
type Phase struct {
	Name   string
	WarmUp bool
}

// Load is what an inspector may know of the load when it is over.
type Load struct {
	Operations []Operation
	Writes     bool         // statements that write may be executed, in transactions that are rolled back
	Tell       func(string) // announces what is about to be done to the server; may be nil
}

// Operation is an operation of the plan, as far as it tells which statements it causes.
type Operation struct {
	Name       string
	Statements []string // as they were sent; none if the load isn't SQL
	Method     string   // of an HTTP request that is all of the operation; "" otherwise
	Done       float64  // that were sent and ended, warm-up included
	Uncertain  float64  // how many executions more or fewer there may have been: retries, failures, those cut off
	// Arguments are those of a statement in the operation's execution of a number, from 0, as texts; nil is null.
	// ok is false if they aren't known in advance, or there is no such execution.
	Arguments func(statement, execution int) (args []*string, ok bool)
}
