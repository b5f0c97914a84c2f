// Package workload is a plan made ready to run: operation number i → which operation, and the
// arguments of each of its requests. Both tiers of the engine draw from it. It does no I/O.
package workload

import (
	"strings"
	"time"

	"brunt/internal/bucket"
	"brunt/internal/gen"
	"brunt/internal/keyspace"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Workload is a compiled plan. Once its hooks and the starts of its Sequences are set it is immutable
// and safe for concurrent use; the only mutable state is the caller's State.
type Workload struct {
	Plan       *plan.Plan
	Program    protocol.Program
	Operations []Operation
	Total      uint64 // plan.ByCount: the queue's length; 0 otherwise (no end)

	// Done, if not nil, receives every finished operation by whichever session ran it,
	// concurrently. Compile sets it for plans whose Keyspace follows what is inserted.
	Done func(operation int, index uint64, class protocol.Class)

	// Check, if not nil, looks at the answer to a step that captures values, after they have been
	// moved into st. What it returns fails the operation unless its Class is OK. It is called
	// concurrently by different sessions.
	Check func(operation, step int, st *State) protocol.Failure

	// Timed, if not nil, is told how long every finished operation and each request of it took, by
	// whichever session ran it, concurrently.
	Timed func(Timing)

	// Wrote, if not nil, is told what became of every operation with a step that has a Verify, by whichever session ran
	// it, concurrently.
	Wrote func(Written)

	// Begins, if not nil, is told the number of every such operation before anything of it is sent, concurrently.
	Begins func(index uint64)

	// Reads are the requests that read writes back; see Step.Verify. Sessions of the load don't know them.
	Reads protocol.Program

	// Registers are the requests of the plan's registers: the one that writes, and the one that reads; none without
	// them.
	Registers protocol.Program

	// Records are those of the plan's Keyspace, for this run; nil without one.
	Records *keyspace.Space

	// Sequences begin after what their columns hold, once that is known: see Sequence.After.
	Sequences []*Sequence

	pick   picker
	pauses [][]pause // by operation, see newPauses
}

// Operation is a compiled operation. A transaction has its BEGIN and COMMIT among its steps.
type Operation struct {
	Name  string
	Steps []Step
	Think plan.Think
	// Rollback is the request that ends a failed transaction, or nil.
	Rollback *protocol.Request
	// Role is that of the nodes that may serve it.
	Role protocol.Role

	keyStep, keyParam int         // the parameter that nodes are chosen by; −1 if none is
	bucket            *bucket.Key // by whose bucket nodes are chosen, of the same step; nil if they aren't
	verified          bool        // a step of it has a Verify
}

// Step is one request and where its parameters come from.
type Step struct {
	Request *protocol.Request
	Think   plan.Think
	params  []param
	kind    protocol.Kind

	variants []*protocol.Request // see plan.Step.Variants
	variant  func(i uint64) int
	check    keyspace.Check
	wrong    *wrong // nil for none

	// Verify is how what it wrote is read back; nil if it isn't.
	Verify *Verify
}

// wrong is a request that must be refused, which a share of the operations sends instead; see plan.Wrong.
type wrong struct {
	request *protocol.Request
	stream  gen.Stream
	share   float64
	expect  string
}

// of reports whether operation number i sends it.
func (w *wrong) of(i uint64) bool { return w.stream.Float64(i) < w.share }

// expects reports whether a failure is the one that must come.
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

// State is one session's working memory: the arguments and captures of the operation under way.
type State struct {
	Args     [][]gen.Value // one slice a step
	Captured [][]gen.Value // one slice a step; the engine moves Reply.Captured here
	Index    uint64        // of the operation under way
}

// picker says which operation number i is.
type picker interface{ pick(i uint64) int }

// Pick returns the index in Operations of operation number i. With plan.ByCount i must be below
// Total.
func (w *Workload) Pick(i uint64) int {
	if len(w.Operations) == 1 {
		return 0
	}
	return w.pick.pick(i)
}

// Args fills st.Args[step] with the arguments of a step of operation number i and returns them.
// It is called once for each step of an operation; attempts after a retryable error reuse
// st.Args of generated parameters. It allocates nothing once st has been used for the
// operation before.
func (w *Workload) Args(st *State, operation, step int, i uint64) []gen.Value {
	return w.Operations[operation].Steps[step].fill(st, step, i)
}

// fill is Args of the step.
func (s *Step) fill(st *State, step int, i uint64) []gen.Value {
	for len(st.Args) <= step {
		st.Args = append(st.Args, nil)
	}
	a := st.Args[step]
	if len(a) != len(s.params) { // another operation's
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

// Again prepares the arguments of a step for a further attempt at the same operation: generated
// values stay as they are, values from earlier steps are taken again. Args must have filled the
// step before.
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

// earlier sets v to the value that an earlier step of the operation had or returned.
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

// Capture keeps the captured values of a step's reply for later steps, swapping buffers with it.
func (st *State) Capture(step int, reply *protocol.Reply) {
	for len(st.Captured) <= step {
		st.Captured = append(st.Captured, nil)
	}
	st.Captured[step], reply.Captured = reply.Captured, st.Captured[step]
}

// ThinkTime returns the pause after operation number i (step < 0) or before the step after the
// given one. It is a pure function of the seed and i.
func (w *Workload) ThinkTime(operation, step int, i uint64) time.Duration {
	pauses, k := w.pauses[operation], max(step, -1)+1
	if k >= len(pauses) {
		return 0
	}
	return pauses[k].duration(i)
}

// Convert passes every generator of parameters through wrap, for servers that take some kinds of
// value in another form. It must be called before the workload is used.
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

// WholeOperation is the Step of a Timing that is about an operation and not one of its requests.
const WholeOperation = -1

// Timing is how long an operation or one of its requests took. Times are nanoseconds on the run's
// clock.
type Timing struct {
	Operation  int
	Step       int // WholeOperation, or which request
	Index      uint64
	IntendedNs int64 // of a request: as SentNs
	SentNs     int64
	EndNs      int64
	Class      protocol.Class
}

// For returns the step's request within operation number i.
func (s *Step) For(i uint64) *protocol.Request {
	switch {
	case s.wrong != nil && s.wrong.of(i):
		return s.wrong.request
	case s.variant == nil:
		return s.Request
	}
	return s.variants[s.variant(i)]
}
