package inspect

import (
	"context"
	"slices"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
)

// Inspector inspects one server. One goroutine calls its methods, in this order: Begin; Snapshot, Mark and Sample
// any number of times; End; Close. Close may also be called without the others. Contexts limit the duration of
// calls.
type Inspector interface {
	// Name returns the server's name as given by the user, without secrets.
	Name() string
	// Begin connects and takes the first snapshot. Its errors are for the user: one line that says what to do.
	Begin(ctx context.Context) error
	// Snapshot reads the server's statistics. A phase may end at this point; see Mark.
	Snapshot(ctx context.Context) error
	// Mark ends a phase at the last snapshot.
	Mark(phase Phase)
	// Sample looks at what the server's sessions are doing. at is the time since Begin.
	Sample(ctx context.Context, at time.Duration) error
	// End ends the last phase now and returns the results. Only End does the expensive work, such as explaining
	// statements and reading catalogs. It returns what is known even together with an error.
	End(ctx context.Context, last Phase, load Load) (*record.Inspection, error)
	Close()
}

// Profiler is an inspector that can sample which functions take the server's time.
type Profiler interface {
	// ProfileFunctions makes Begin start a profiler in the server, which isn't free of cost, and End stop it.
	ProfileFunctions()
}

// Worker is an inspector whose samples tell whether its server is at work. It is asked less often while it isn't.
type Worker interface {
	// AtWork reports whether the latest sample found a session at work.
	AtWork() bool
}

// Phase is a phase of the run's load.
type Phase struct {
	Name   string
	WarmUp bool
}

// Load describes the load to an inspector after the load has ended.
type Load struct {
	Operations []Operation
	Brief      bool         // nothing is explained: statements are only counted and sessions sampled
	Writes     bool         // whether statements that write may be executed, in transactions that are rolled back
	Tell       func(string) // called with a text before something notable is done to the server; may be nil
}

// Operation describes an operation of the plan, so that the statements it causes can be recognized.
type Operation struct {
	Name       string
	Statements []string            // SQL as it was sent; empty if the load isn't SQL
	Method     string              // of the HTTP request, if the operation is a single request; otherwise ""
	Requests   []*protocol.Request // what it may send, variants included; don't change them
	BytesIn    float64             // of all answers
	ServiceNs  float64             // mean time from the send of an execution to its end, warm-up included; 0 if unknown
	Done       float64             // number of finished executions, warm-up included
	Measured   float64             // number of finished executions without the warm-up
	MeanNs     float64             // mean service time of these; 0 if unknown
	Uncertain  float64             // how far the executions may differ from Done: retries, failures, interruptions
	// Arguments returns the arguments of a statement in the operation's execution with the given number (from 0),
	// as texts; nil is null. ok is false if there is no such execution or its arguments aren't known in advance.
	Arguments func(statement, execution int) (args []*string, ok bool)
	// Commands calls each with the words of the commands among the load's first executions, in their order, as far as
	// they are known in advance. It is nil if the operation sends no commands. each must not keep the words.
	Commands func(each func(words []string))
}

// Miss adds a notice about missing information to a list, unless it has the same one already.
func Miss(list *[]record.Warning, w record.Warning) {
	if !slices.ContainsFunc(*list, func(o record.Warning) bool { return o.Text.Equal(w.Text) }) {
		*list = append(*list, w)
	}
}
