//go:build !nok6

package tarantool

import (
	"time"

	"brunt/internal/driver"
	ours "brunt/internal/driver/iproto"
)

// begin sends a request. The error is that it couldn't be sent.
func (i *instance) begin(p *pool, r *request) (*exchange, error) {
	ctx := i.vu.Context()
	x := &exchange{request: r}
	x.Sent, x.Done = i.vu.Run.Now(), i.signal()
	n := p.pick()
	x.address = n.number
	c, failure := n.get(ctx)
	if failure == nil {
		failure = c.Send(ctx, byte(r.kind), r.body, &x.Exchange)
	}
	if failure != nil {
		i.free = x.Done
		x.failure, x.end = failure, i.vu.Run.Now()
		i.note(x)
		if i.vu.InLoop() { // or the script would turn as fast as it can while the server is away
			driver.Sleep(ctx, min(n.rest(), time.Second))
		}
		return nil, failure
	}
	return x, nil
}

// signal is a channel that nothing else is told through.
func (i *instance) signal() chan struct{} {
	s := i.free
	if i.free = nil; s == nil {
		s = make(chan struct{}, 1)
	}
	return s
}

// wait waits for the answer, or the iteration's end, and records what the request came to.
func (i *instance) wait(x *exchange) error {
	ctx := i.vu.Context()
	select {
	case <-x.Done:
		i.free = x.Done
		x.settle()
	case <-ctx.Done():
		x.failure, x.cut = driver.Unanswered(ctx, x.may(), ctx.Err(), ""), true
		x.end = i.vu.Run.Now()
	}
	i.note(x)
	if x.failure != nil {
		return x.failure
	}
	return nil
}

// settle takes what came of a request that is done.
func (x *exchange) settle() {
	x.end, x.bytes = x.End, int64(len(x.Body))
	if x.Lost != nil {
		x.failure = driver.Unanswered(noContext, x.may(), x.Lost, "")
		return
	}
	number, failed := x.Failed()
	if !failed {
		return
	}
	message, err := errorText(x.Body)
	if err != nil {
		x.failure = &driver.Error{Class: driver.Protocol, Text: "an error that makes no sense", Fatal: true, Err: err}
		return
	}
	x.failure = ours.ServerError(number, message)
}
