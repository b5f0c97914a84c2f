package workload

import (
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// TraceStep is what happened to an operation that is traced.
type TraceStep string

// The steps of a traced operation, in their order. All but the last may occur several times.
const (
	TraceDrawn    TraceStep = "drawn"    // a request was chosen and its arguments filled: Request and Args
	TraceEncoded  TraceStep = "encoded"  // a codec has written it: Bytes
	TraceAnswered TraceStep = "answered" // Reply arrived in full at EndNs; the request was sent at SentNs
	TraceFailed   TraceStep = "failed"   // it couldn't be sent, or its session was lost, at EndNs: Failure
	TraceRecorded TraceStep = "recorded" // the operation ended, with Failure as its result; IntendedNs, SentNs, EndNs
	TraceCutOff   TraceStep = "cut off"  // the load ended before the operation did; EndNs
)

// TraceEvent is one step of a traced operation. Its pointers and slices are valid during the call only. Times are on
// the run's clock, ns.
type TraceEvent struct {
	Step                      TraceStep
	Operation                 int
	Index                     uint64
	Attempt                   int
	Address                   int // recorded and cut off
	Request                   *protocol.Request
	Args                      []gen.Value
	Bytes                     []byte
	Reply                     *protocol.Reply
	Failure                   protocol.Failure
	IntendedNs, SentNs, EndNs int64
}

// Trace receives what happens to the operations with the numbers below First.
type Trace struct {
	First uint64
	Event func(*TraceEvent) // must be safe for concurrent use
}

// has reports whether an operation is traced. t may be nil.
func (t *Trace) has(index uint64) bool { return t != nil && index < t.First }

// trace completes an event and passes it on. It and its callers are not inlined: the functions that every operation
// passes through must not set aside room for an event.
//
//go:noinline
func (c *Cursor) trace(e *TraceEvent) {
	e.Operation, e.Index, e.Attempt = c.Operation, c.Index, c.Attempts
	c.work.Trace.Event(e)
}

//go:noinline
func (c *Cursor) traceDrawn() {
	c.trace(&TraceEvent{Step: TraceDrawn, Request: c.request, Args: c.Args()})
}

//go:noinline
func (c *Cursor) traceAnswered(r *protocol.Reply, sentNs, endNs int64) {
	c.trace(&TraceEvent{
		Step: TraceAnswered, Request: c.request, Reply: r, Failure: r.Failure, SentNs: sentNs, EndNs: endNs,
	})
}

//go:noinline
func (c *Cursor) traceFailed(f protocol.Failure, atNs int64) {
	c.trace(&TraceEvent{Step: TraceFailed, Failure: f, EndNs: atNs})
}

//go:noinline
func (c *Cursor) traceEnd(step TraceStep, address int, intendedNs, sentNs, endNs int64) {
	e := TraceEvent{Step: step, Address: address, IntendedNs: intendedNs, SentNs: sentNs, EndNs: endNs}
	if step == TraceRecorded {
		e.Failure = c.Failure
	}
	c.trace(&e)
}

//go:noinline
func (c *Cursor) traceEncoded(request []byte) {
	c.trace(&TraceEvent{Step: TraceEncoded, Request: c.request, Bytes: request})
}

// Encoded says which bytes a codec has made of Request and Args.
func (c *Cursor) Encoded(request []byte) {
	if c.traced {
		c.traceEncoded(request)
	}
}
