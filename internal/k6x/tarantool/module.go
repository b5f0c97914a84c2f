// Package tarantool is the JavaScript module k6/x/tarantool: the functions of xk6-tarantool, over
// connections that all virtual users share, balanced over any number of addresses.
package tarantool

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/driver"
	"brunt/internal/k6x/bind"
	"brunt/internal/k6x/session"
)

// New returns the module.
func New(s *session.Session) modules.Module {
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu, operations: map[operation]int{}}
		s.AtEnd(i.settleAll)
		functions := map[string]bind.Func{
			"connect": i.connect, "select": i.selectTuples, "insert": i.insert, "replace": i.replace, "delete": i.remove,
			"update": i.update, "upsert": i.upsert, "call": i.call16, "call17": i.call17, "eval": i.eval, "execute": i.execute,
			"callAsyncNoReturn": i.callAsync, "resolveCallFutures": i.resolve,
		}
		for name, f := range bind.Types() {
			functions[name] = f
		}
		i.results = newResults(vu)
		return vu.Object("tarantool", functions)
	})
}

// instance is the module of one virtual user.
type instance struct {
	vu         *bind.VU
	results    *results
	operations map[operation]int // their numbers in the record
	last       operation         // the one noted last, and its number
	lastNumber int
	pending    []*exchange // asynchronous calls that nobody has looked at since
	buffer     []byte
	free       chan struct{} // nothing is told through it
}

// maxNames bounds how many operations' numbers are remembered.
const maxNames = 1024

// operation is what the record counts apart.
type operation struct{ verb, on string }

// connection is what connect returns to scripts.
type connection struct {
	*pool
	objects bool // rows are wanted as objects
}

// connect(addresses, options) returns a connection. It dials at once, but not while the script is being
// read, which happens for every virtual user and where no load is meant too.
func (i *instance) connect(a *bind.Args) (any, error) {
	o := readOptions(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	shared, err := i.vu.Session.Shared(o.key(), func() (closer, error) { return newPool(i.vu.Session, o) })
	if err != nil {
		return nil, err
	}
	p := shared.(*pool)
	if !i.vu.Initial() {
		if _, err := p.pick().get(i.vu.Context()); err != nil {
			return nil, err
		}
	}
	return i.vu.Runtime().ToValue(&connection{p, o.objects}), nil
}

// on is the call's first argument.
func (i *instance) on(a *bind.Args) *connection {
	if c, ok := a.At(0).Export().(*connection); ok {
		return c
	}
	a.Fault(0, "the connection", "what connect() returned in this virtual user: it can't come from setup()")
	return nil
}

// send makes a request and waits for its answer.
func (i *instance) send(a *bind.Args, c *connection, r *request) (any, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	r.objects = c.objects
	x, err := i.begin(c.pool, r)
	if err != nil {
		return nil, err
	}
	if err := i.wait(x); err != nil {
		return nil, err
	}
	return i.results.later(x), nil
}

// number is the operation's number in the record.
func (i *instance) number(r *request) int {
	key := operation{r.verb, r.on}
	if key == i.last {
		return i.lastNumber
	}
	n, ok := i.operations[key]
	if !ok {
		name := r.verb
		if r.on != "" {
			name += " " + r.on
		}
		n = i.vu.Session.Operation(name)
		if len(i.operations) < maxNames {
			i.operations[key] = n
		}
	}
	i.last, i.lastNumber = key, n
	return n
}

// note records what a request came to.
func (i *instance) note(x *exchange) {
	c := session.Call{Operation: i.number(x.request), Address: x.address, Sent: x.Sent, End: x.end, Attempts: 1, BytesIn: x.bytes, Cut: x.cut}
	if f := x.failure; f != nil {
		c.Class, c.Code, c.Text = f.Class, f.Code, f.Text
	} else {
		c.Class = driver.OK
	}
	i.vu.Run.Done(c)
}
