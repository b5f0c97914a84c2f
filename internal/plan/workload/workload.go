// Package workload compiles a plan: it maps the number of an operation to the operation and to the arguments of its
// requests. Both tiers of the engine use it. It does no I/O.
package workload

import (
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance/bucket"
)

// Workload is a compiled plan. Once its hooks and the starts of its Sequences are set, it is immutable and safe for
// concurrent use; the mutable state is in the caller's State.
type Workload struct {
	Plan       *plan.Plan
	Program    protocol.Program
	Operations []Operation
	Total      uint64 // plan.ByCount: the length of the queue; otherwise 0, which means no end

	// Done, if not nil, is called for every finished operation, concurrently by all sessions. Compile sets it for plans
	// whose Keyspace follows what is inserted.
	Done func(operation int, index uint64, class protocol.Class)

	// Check, if not nil, checks the answer to a step that captures values, after they were moved to st. If it returns a
	// Failure with a Class other than OK, the operation fails. It is called concurrently by all sessions.
	Check func(operation, step int, st *State) protocol.Failure

	// Timed, if not nil, receives the times of every finished operation. It is called concurrently by all sessions.
	Timed func(Timing)
	// TimedRequests, if not nil, receives the times of the requests of every finished operation, before Timed receives
	// those of the operation: of the last attempt only, since those of others would count as further operations. It is
	// called concurrently by all sessions.
	TimedRequests func(Timing)
	// Unsent, if not nil, receives the arrivals that are given up without being sent: their operation, number and
	// intended start, and whether they were too late; otherwise the load ended first. It is called concurrently.
	Unsent func(operation int, index uint64, intendedNs int64, late bool)
	// Trace, if not nil, receives every step of the first operations.
	Trace *Trace

	// Wrote, if not nil, receives the result of every operation that has a step with a Verify. It is called
	// concurrently by all sessions.
	Wrote func(Written)

	// Begins, if not nil, receives the number of each such operation before anything of it is sent. It is called
	// concurrently.
	Begins func(index uint64)

	// Reads contains the requests that read writes back; see Step.Verify. The sessions of the load don't use them.
	Reads protocol.Program

	// Registers contains the requests of the plan's registers: the write and the read. It is empty without registers.
	Registers protocol.Program

	// Records are the records of the plan's Keyspace in this run; nil without a Keyspace.
	Records *keyspace.Space

	// Sequences must begin after the values in their columns; see Sequence.After.
	Sequences []*Sequence

	pick    picker
	scripts *scripts  // nil without operations that are scripts
	pauses  [][]pause // by operation, see newPauses
}

// Operation is a compiled operation. A transaction has its BEGIN and COMMIT among its steps.
type Operation struct {
	Name  string
	Steps []Step
	Think plan.Think
	// Counters are the names of what the operation counts, if it is a script.
	Counters []string
	// Rollback is the request that ends a failed transaction, or nil.
	Rollback *protocol.Request
	// Role is the role of the nodes that may serve the operation.
	Role protocol.Role

	keyStep, keyParam int         // position of the parameter that selects the node; keyParam is −1 if there is none
	bucket            *bucket.Key // computes the bucket that selects the node, from the same step; nil if buckets don't
	verified          bool        // a step has a Verify
	script            int         // number among the plan's Scripted operations; −1 if it isn't one
}

// Step is a request and the sources of its parameters.
type Step struct {
	Request *protocol.Request
	Think   plan.Think
	params  []param
	kind    protocol.Kind
	texts   []param // see Cursor.lacking

	variants []*protocol.Request // see plan.Step.Variants
	variant  func(i uint64) int
	check    keyspace.Check
	wrong    *wrong // nil for none

	// Verify describes how the step's writes are read back; nil if they aren't.
	Verify *Verify
}

// Requests returns what the step may send, except for requests that the server must refuse.
func (s *Step) Requests() []*protocol.Request {
	if len(s.variants) > 0 {
		return s.variants
	}
	return []*protocol.Request{s.Request}
}

// wrong is a request that the server must refuse. A share of the operations sends it instead; see plan.Wrong.
type wrong struct {
	request *protocol.Request
	stream  gen.Stream
	share   float64
	expect  string
}

// of reports whether operation number i sends the wrong request.
func (w *wrong) of(i uint64) bool { return w.stream.Float64(i) < w.share }

// expects reports whether a failure is the expected one.
func (w *wrong) expects(f *protocol.Failure) bool {
	switch {
	case f.Class == protocol.OK:
		return false
	case strings.EqualFold(w.expect, "any"):
		return f.Class == protocol.Server || f.Class == protocol.Retryable
	}
	return strings.EqualFold(f.Code, w.expect) || f.Class.String() == w.expect
}

type param struct {
	gen      gen.Generator // nil: from an earlier step
	step     int
	index    int
	argument bool
}

// State is the working memory of one session: arguments and captured values of the current operation.
type State struct {
	Args     [][]gen.Value // by step
	Captured [][]gen.Value // by step; swapped with Reply.Captured
	Index    uint64        // number of the current operation
}

// picker returns the index of operation number i.
type picker interface{ pick(i uint64) int }

// Pick returns the index in Operations of operation number i. With plan.ByCount i must be below
// Total.
func (w *Workload) Pick(i uint64) int {
	if len(w.Operations) == 1 {
		return 0
	}
	return w.pick.pick(i)
}

// HasScripts reports whether an operation is a script.
func (w *Workload) HasScripts() bool { return w.scripts != nil }

// Scripted reports whether an operation is a script: its steps have no order, and their arguments aren't known before.
func (w *Workload) Scripted(operation int) bool { return w.Operations[operation].script >= 0 }

// Args fills st.Args[step] with the arguments of a step of operation number i and returns them. It is called once per
// step of an operation; attempts after a retryable error reuse the generated values in st.Args. It allocates nothing if
// st was used for the operation before.
func (w *Workload) Args(st *State, operation, step int, i uint64) []gen.Value {
	return w.Operations[operation].Steps[step].fill(st, step, i)
}

// fill is Args for the step.
func (s *Step) fill(st *State, step int, i uint64) []gen.Value {
	for len(st.Args) <= step {
		st.Args = append(st.Args, nil)
	}
	a := st.Args[step]
	if len(a) != len(s.params) { // the slice belongs to another operation
		if cap(a) < len(s.params) {
			b := make([]gen.Value, len(s.params))
			copy(b, a[:cap(a)])
			a = b
		}
		a = a[:len(s.params)]
		st.Args[step] = a
	}
	st.Index = i
	for k := range s.params {
		if p := &s.params[k]; p.gen != nil {
			p.gen.Value(&a[k], i)
		} else {
			p.earlier(st, &a[k])
		}
	}
	return a
}

// Again prepares the arguments of a step for another attempt at the same operation: it keeps generated values, and
// updates values from earlier steps. Args must have been called for the step before.
func (w *Workload) Again(st *State, operation, step int) []gen.Value {
	s := &w.Operations[operation].Steps[step]
	a := st.Args[step]
	for k := range s.params {
		if s.params[k].gen == nil {
			s.params[k].earlier(st, &a[k])
		}
	}
	return a
}

// earlier sets v to an argument or a captured value of an earlier step; null if there is none.
func (p *param) earlier(st *State, v *gen.Value) {
	from := st.Captured
	if p.argument {
		from = st.Args
	}
	if p.step < len(from) && p.index < len(from[p.step]) {
		v.Set(&from[p.step][p.index])
		return
	}
	v.SetNull()
}

// Capture stores the captured values of a step's reply for later steps. It swaps buffers with the reply.
func (st *State) Capture(step int, reply *protocol.Reply) {
	for len(st.Captured) <= step {
		st.Captured = append(st.Captured, nil)
	}
	st.Captured[step], reply.Captured = reply.Captured, st.Captured[step]
}

// ThinkTime returns the pause after operation number i (step < 0), or between the given step and the next one. It is a
// pure function of the seed and i.
func (w *Workload) ThinkTime(operation, step int, i uint64) time.Duration {
	pauses, k := w.pauses[operation], max(step, -1)+1
	if k >= len(pauses) {
		return 0
	}
	return pauses[k].duration(i)
}

// Convert replaces every generator g of a parameter by wrap(g), for servers that need some kinds of values in another
// form. It must be called before the workload is used.
func (w *Workload) Convert(wrap func(gen.Generator) gen.Generator) {
	for i := range w.Operations {
		for k := range w.Operations[i].Steps {
			s := &w.Operations[i].Steps[k]
			for n := range s.params {
				if s.params[n].gen != nil {
					s.params[n].gen = wrap(s.params[n].gen)
				}
			}
		}
	}
}

// Timing holds the times of an operation or of one of its requests, in nanoseconds on the run's clock.
type Timing struct {
	Operation  int
	Step       int // index of the request; 0 for operations
	Index      uint64
	IntendedNs int64 // equals SentNs for a request
	SentNs     int64
	EndNs      int64
	Class      protocol.Class
	// Of whole operations:
	Session  int    // number of its session in this process, from 0
	Attempts int    // ≥ 1
	Code     string // of the failure of the last attempt
	Text     string // of that failure
	Facts    protocol.Facts
}

// For returns the request that the step sends in operation number i.
func (s *Step) For(i uint64) *protocol.Request {
	switch {
	case s.wrong != nil && s.wrong.of(i):
		return s.wrong.request
	case s.variant == nil:
		return s.Request
	}
	return s.variants[s.variant(i)]
}
