// Package script defines operations that are programs: which of their requests they send, in which order and with which
// arguments depends on answers and on variables that outlive an operation. A dialect whose tests are written in a
// language of their own (pgbench's scripts, the profile of a TPC benchmark) implements a Language. Both tiers of the
// engine run its programs as they run other operations, so that everything else (the record, reports, comparisons,
// workers, faults) is the same.
//
// A plan says the language and has each operation's text, so that it remains data: a run's plan.yml can be run again,
// and is sent to workers.
package script

import (
	"maps"
	"slices"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

var languages = map[string]Language{}

// Register makes a language known. Dialects do so when they are linked. It panics for a name that is taken.
func Register(l Language) {
	if _, taken := languages[l.Name()]; taken {
		panic("two languages of scripts are called " + l.Name())
	}
	languages[l.Name()] = l
}

// Lookup returns the language with a name.
func Lookup(name string) (Language, bool) {
	l, ok := languages[name]
	return l, ok
}

// Languages returns the names of the known languages, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// Language compiles the scripts of a plan.
type Language interface {
	// Name is the name of the language in plans.
	Name() string
	// Compile compiles the scripts of a plan, which are all in one language. Errors are *Error where the place in a
	// script is known.
	Compile(s *Source) (Program, error)
}

// Limited is implemented by languages with options that limit how many operations the sessions begin, which belong to
// the load that the plan was made for.
type Limited interface {
	// Unlimited removes these limits from options, for another load.
	Unlimited(options map[string]string)
}

// Source is what a plan says about its scripts.
type Source struct {
	Protocol   string // of the target, as in plans: "pg", "mysql", …
	Seed       uint64 // of the plan
	Sessions   int    // of the whole load, over all workers
	Options    map[string]string
	Operations []Operation
}

// Operation is an operation of the plan that is a script.
type Operation struct {
	Name   string
	Text   string
	Weight float64
}

// Error is a fault in a script.
type Error struct {
	Operation int // index in Source.Operations
	Line      int // in its text, from 1
	Column    int // from 1; 0: unknown
	Text      string
}

// Error returns the text of the fault.
func (e *Error) Error() string { return e.Text }

// Program is the compiled scripts of a plan. It is immutable and safe for concurrent use.
type Program interface {
	// Requests returns the requests that an operation (an index in Source.Operations) may send. A Step names them by
	// their index. Their IDs are set by the caller. There must be at least one.
	Requests(operation int) []protocol.Request
	// Session returns the state of a session. number counts the sessions of the whole load from 0.
	Session(number int) Session
}

// Session runs one operation after the other. It is used by one goroutine at a time. The values in a Step, and the
// reply that is passed to it, are valid until the next call.
type Session interface {
	// Begin begins operation number index of the load, which is the operation (an index in Source.Operations) that the
	// plan's mix chose, or that Choose did.
	Begin(operation int, index uint64) Step
	// Again begins the operation once more, after it ended with a failure that the plan's rules repeat. The language
	// says what it begins with: pgbench's with the same random numbers, and with the variables that the failure left.
	Again() Step
	// Answered continues after the answer to a request or its failure, and when the operation's timeout ends a pause. If
	// reply.Fatal is set, the connection is lost: the operation must end, and with reply.Failure unless that is of class
	// OK and the request was its last.
	Answered(reply *protocol.Reply) Step
	// Resume continues after a pause, or after the answers to the requests of Lanes.
	Resume() Step
}

// Renewing is implemented by programs whose steps may have Renew, which leaves sessions without a connection while they
// connect.
type Renewing interface {
	Renews() bool
}

// Counting is implemented by programs whose operations count more than whether they succeed. The counts are in the
// record, in addition to those of all operations, and those of workers add up.
type Counting interface {
	// Counters returns the names of what an operation (an index in Source.Operations) counts, in the order of
	// Step.Counts; at most MaxCounters.
	Counters(operation int) []string
}

// MaxCounters is the greatest number of counters of an operation.
const MaxCounters = protocol.ScriptCounters

// Chooser is implemented by sessions that choose their operations themselves.
type Chooser interface {
	// Choose returns the operation (an index in Source.Operations) that is begun next. It is called once before Begin.
	// It decides only if all operations of the plan are scripts.
	Choose(index uint64) int
}

// Rester is implemented by sessions that pause between operations in closed loads.
type Rester interface {
	// Rest returns the pause after the operation that has ended. It is called once for each operation.
	Rest() time.Duration
}

// Waiter is implemented by sessions that decide themselves, in closed loads, when they begin an operation and whether
// there is another one. It takes the place of Rester. It decides only if all operations of the plan are scripts.
type Waiter interface {
	// Wait is called before each operation, and again after each pause that it has asked for. If pause is zero, the next
	// operation begins. quit says that there is none: the session takes no further operations. Pauses are neither part of
	// an operation's time nor limited by its timeout.
	Wait() (pause time.Duration, quit bool)
}

// Aborter is implemented by sessions that give up after a failure.
type Aborter interface {
	// Aborted reports whether the session takes no further operations because of a failure, although the load isn't
	// over. It is asked when the session has said that it quits.
	Aborted() bool
}

// Lanes are requests of an operation that may be in flight together. Their methods are called one at a time, and not
// while the session's are.
type Lanes interface {
	// AtOnce returns how many may be in flight; at least 1.
	AtOnce() int
	// Take returns the next request: a number that Answered is given, and Step.Args. ok is false if there is none now:
	// then Take is called again after an answer, unless none is awaited, which ends them.
	Take() (number int, args []gen.Value, ok bool)
	// Answered takes the answer to a request or its failure. The reply is valid during the call.
	Answered(number int, reply *protocol.Reply)
}

// Move is what a session does next.
type Move uint8

// The moves.
const (
	End   Move = iota // the operation is over, with Failure as its result
	Send              // send request number Request of the operation with Args
	Pause             // wait for Pause
	Fork              // send request number Request with the arguments of each of Lanes, then call Resume
)

// Step is a session's next step.
type Step struct {
	Move    Move
	Request int         // Send: an index in Program.Requests
	Args    []gen.Value // Send: a value for each of the request's parameters
	Pause   time.Duration
	Lanes   Lanes // Fork; only connections that are protocol.Parallel can do it
	// Silence is, at a Send or Fork, how long the server may send nothing before the request fails as one that has no
	// answer in time; 0: as long as the operation's timeout lets it. Connections that can't limit it (protocol.Patient)
	// don't.
	Silence time.Duration
	Failure protocol.Failure // End: Class OK means success
	// Last says that a request is expected to be the operation's last. It is a hint: event loops read its answer without
	// preparing for a further request.
	Last bool
	// Counts, at an End without a failure, is what the operation adds to the counters of Counting; it may be shorter.
	Counts []uint32
	// Quit, at an End, says that the session takes no further operations.
	Quit bool
	// Renew, at an End, says that the session's next operation has a new connection, as with the plan's reconnect.
	Renew bool
}
