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

// traced reports whether the current operation is traced.
func (c *Cursor) traced() bool { return c.work.Trace != nil && c.Index < c.work.Trace.First }

// trace completes an event and passes it on.
func (c *Cursor) trace(e TraceEvent) {
	e.Operation, e.Index, e.Attempt = c.Operation, c.Index, c.Attempts
	c.work.Trace.Event(&e)
}

// Encoded says which bytes a codec has made of Request and Args.
func (c *Cursor) Encoded(request []byte) {
	if c.traced() {
		c.trace(TraceEvent{Step: TraceEncoded, Request: c.request, Bytes: request})
	}
}
