package tarantool

import (
	"context"
	"time"

	"github.com/tarantool/go-iproto"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// begin sends a request. It returns an error if the request couldn't be sent.
func (i *instance) begin(p *pool, r *request) (*exchange, error) {
	ctx := i.vu.Context()
	x := newExchange(r)
	x.Sent, x.Done = i.vu.Run.Now(), i.signal()
	n := p.pick()
	x.address = n.number
	c, failure := n.get(ctx)
	if failure == nil {
		i.args[0].Kind, i.args[0].B = gen.Bytes, r.body
		failure = c.Send(ctx, i.args[:], &x.Exchange)
	}
	if failure != nil {
		i.free = x.Done
		x.failure, x.end = failure, i.vu.Run.Now()
		i.note(x)
		i.vu.Rest(ctx, n.rest())
		return nil, failure
	}
	return x, nil
}

// signal returns a channel for one exchange. Channels are reused.
func (i *instance) signal() chan struct{} {
	s := i.free
	if i.free = nil; s == nil {
		s = make(chan struct{}, 1)
	}
	return s
}

// wait waits for the answer or the end of the iteration, and records the outcome.
func (i *instance) wait(x *exchange) error {
	ctx := i.vu.Context()
	select {
	case <-x.Done:
		i.free = x.Done
		x.settle()
	case <-ctx.Done():
		x.failure, x.cut = protocol.Unanswered(ctx, x.Request, ctx.Err(), ""), true
		x.end = i.vu.Run.Now()
	}
	i.note(x)
	if x.failure != nil {
		return x.failure
	}
	return nil
}

// settle stores the outcome of a finished request.
func (x *exchange) settle() {
	x.end, x.bytes = x.End, x.Reply.BytesIn
	if x.failure = x.Reply.Err(); x.Lost != nil {
		x.failure = protocol.Unanswered(noContext, x.Request, x.Lost, "")
	}
	if x.failure != nil {
		x.failure.Class = x.Request.ClassOf(x.failure.Class)
	}
}

// maxPending is how many asynchronous calls of a virtual user may be unanswered. A further call waits for the oldest.
const maxPending = 4096

// callAsync implements callAsyncNoReturn(connection, function, arguments). It doesn't wait for the answer. The outcomes
// of earlier calls are recorded, with the times of their answers, by the virtual user's next callAsyncNoReturn or by
// resolveCallFutures.
func (i *instance) callAsync(a *bind.Args) (any, error) {
	c := i.on(a)
	r := i.called(a, "call", iproto.IPROTO_CALL_16, iproto.IPROTO_FUNCTION_NAME, tuples)
	if err := a.Err(); err != nil {
		return nil, err
	}
	i.harvest()
	if len(i.pending) >= maxPending {
		oldest := i.pending[0]
		i.pending = i.pending[1:]
		_ = i.wait(oldest) // recorded; the script doesn't use the answer
	}
	x, err := i.begin(c.pool, r)
	if err != nil {
		return nil, err
	}
	i.pending = append(i.pending, x)
	return nil, nil
}

// harvest records the asynchronous calls that are finished.
func (i *instance) harvest() {
	left := i.pending[:0]
	for _, x := range i.pending {
		select {
		case <-x.Done:
			x.settle()
			i.note(x)
		default:
			left = append(left, x)
		}
	}
	clear(i.pending[len(left):])
	i.pending = left
}

// resolve implements resolveCallFutures(). It waits for the answers to this virtual user's asynchronous calls, and
// throws the first failure.
func (i *instance) resolve(a *bind.Args) (any, error) {
	var first error
	for _, x := range i.pending {
		if err := i.wait(x); err != nil && first == nil {
			first = err
		}
	}
	i.pending = nil
	return nil, first
}

// settleAll waits up to one second for pending asynchronous calls at the end of the load. Those without an answer then
// count as in flight.
func (i *instance) settleAll() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, x := range i.pending {
		select {
		case <-x.Done:
			x.settle()
		case <-ctx.Done():
			x.cut, x.end = true, i.vu.Run.Now()
		}
		i.note(x)
	}
	i.pending = nil
}
