//go:build !nok6

package tarantool

import (
	"errors"
	"time"

	"github.com/tarantool/go-iproto"

	"brunt/internal/driver"
	ours "brunt/internal/driver/iproto"
)

var errRaw = errors.New("the answer is raw")

// begin sends a request. The error is that it couldn't be sent.
func (i *instance) begin(p *pool, r *request) (*exchange, error) {
	ctx := i.vu.Context()
	x := &exchange{request: r, clock: i.vu.Run, sent: i.vu.Run.Now()}
	n := p.pick()
	x.address = n.number
	c, failure := n.get(ctx)
	if failure != nil {
		x.failure, x.end = failure, i.vu.Run.Now()
		i.note(x)
		if i.vu.InLoop() { // or the script would turn as fast as it can while the server is away
			driver.Sleep(ctx, min(n.rest(), time.Second))
		}
		return nil, failure
	}
	x.future = c.Do(x)
	return x, nil
}

// wait waits for the answer, or the iteration's end, and records what the request came to.
func (i *instance) wait(x *exchange) error {
	ctx := i.vu.Context()
	select {
	case <-x.future.WaitChan():
		x.settle()
	case <-ctx.Done():
		x.failure, x.cut = ours.Unanswered(ctx, &x.may, ctx.Err()), true
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
	response, err := x.future.GetResponse()
	if err != nil {
		x.failure, x.end = ours.Unanswered(noContext, &x.may, err), x.clock.Now()
		return
	}
	got := response.(*answer)
	x.header, x.body, x.end = got.header, got.body, got.at
	if x.header.Error == iproto.ER_UNKNOWN {
		return
	}
	message, err := errorText(x.body)
	if err != nil {
		x.failure = &driver.Error{Class: driver.Protocol, Text: "an error that makes no sense", Fatal: true, Err: err}
		return
	}
	x.failure = ours.ServerError(uint32(x.header.Error), message)
}
