//go:build !nok6

package tarantool

import (
	"context"
	"time"

	"github.com/tarantool/go-iproto"

	"brunt/internal/driver"
	"brunt/internal/k6x/bind"
)

// maxPending is how many asynchronous calls of a virtual user may be without an answer; further ones
// wait for the oldest.
const maxPending = 4096

// callAsync is callAsyncNoReturn(connection, function, arguments): it doesn't wait for the answer. What
// the calls came to is recorded, with the time of their answers, when the virtual user calls the next
// one, and by resolveCallFutures.
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
		_ = i.wait(oldest) // recorded; the script asked for no answer
	}
	x, err := i.begin(c.pool, r)
	if err != nil {
		return nil, err
	}
	i.pending = append(i.pending, x)
	return nil, nil
}

// harvest records the calls that are done.
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

// resolve is resolveCallFutures(): it waits for the answers to this virtual user's asynchronous calls and
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

// settleAll gives the calls that nobody waited for a little time at the end of the run.
func (i *instance) settleAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, x := range i.pending {
		select {
		case <-x.Done:
			x.settle()
		case <-ctx.Done():
			x.failure, x.end = driver.Late(x.may()), i.vu.Run.Now()
		}
		i.note(x)
	}
	i.pending = nil
	return nil
}
