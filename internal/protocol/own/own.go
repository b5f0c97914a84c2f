// Package own drives code that others wrote, a Go function or a protocol of their own, behind the contract of
// protocol.Driver. Such code may do what a driver never does: panic, end its goroutine, ignore its context, or block
// for ever. A load must come to an end all the same, with a record in which every arrival has its fate.
//
// Each session therefore has a goroutine of its own in which the foreign code runs. If a call doesn't return soon after
// its time is up, its session abandons the goroutine and takes a new one: the abandoned goroutine shares nothing with
// the load any more.
package own

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// Session is what foreign code does with one connection. It is used by one call at a time, except that Close may be
// called while a call is abandoned.
type Session interface {
	// Do executes a request and fills the reply, as protocol.Conn does. It doesn't use the reply's Each.
	Do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *Reply)
	// Close releases the connection. It is called once.
	Close() error
}

// Reply is the outcome of a request, with the rows of the answer, if there are any.
type Reply struct {
	protocol.Reply
	Columns []string
	Values  [][]gen.Value
}

// Connect opens a session. Its error may be a *protocol.Error.
type Connect func(ctx context.Context, t protocol.Target) (Session, error)

// The codes of failures of class Client that foreign code causes.
const (
	CodePanic  = "panic"  // it panicked
	CodeExit   = "goexit" // it ended its goroutine
	CodeLeft   = "left"   // it ignored its context, and its goroutine was abandoned
	CodeSilent = "silent" // it returned neither a result nor an error
)

const (
	// grace is how long a call may take to return after its context is done.
	grace = 100 * time.Millisecond
	// mostLeft limits how many abandoned calls of a driver may run at the same time. Further calls wait for one to end.
	mostLeft = 1000
	// freeEvery is how often a call that waits for abandoned ones looks.
	freeEvery = 10 * time.Millisecond
)

// Panic is a panic of foreign code.
type Panic struct {
	Value any
	Stack []byte // of its goroutine
}

// Driver is a protocol.Driver over foreign code. It must not be copied.
type Driver struct {
	name     string
	about    string
	connect  Connect
	onPanic  func()
	left     atomic.Int64 // abandoned calls that still run
	panicked atomic.Pointer[Panic]
}

var (
	_ protocol.Driver = (*Driver)(nil)
	_ protocol.Noting = (*Driver)(nil)
	_ protocol.AdHoc  = (*conn)(nil)
)

// New returns the driver of the protocol called name. about is what failures call the foreign code, such as "the
// function". onPanic is called, concurrently, when the code panics or ends its goroutine; it may be nil.
func New(name, about string, connect Connect, onPanic func()) *Driver {
	return &Driver{name: name, about: about, connect: connect, onPanic: onPanic}
}

// Name returns the protocol's name.
func (d *Driver) Name() string { return d.name }

// Panicked returns the first panic, nil if there was none.
func (d *Driver) Panicked() *Panic { return d.panicked.Load() }

// Left returns how many calls that ignored their context still run.
func (d *Driver) Left() int { return int(d.left.Load()) }

// Notes implements protocol.Noting.
func (d *Driver) Notes() (all []message.Message) {
	if n := d.Left(); n > 0 {
		all = append(all, message.New("calls-left", message.Count("n", n)))
	}
	return all
}

// Describe opens a session and closes it.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c, err := d.Dial(ctx, t, nil)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	return protocol.ServerInfo{Product: d.name}, c.Close()
}

// Dial opens a session. A session that is opened after ctx is done is closed.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, _ *protocol.Program) (protocol.Conn, error) {
	var s Session
	var err error
	failed := d.guarded(ctx, func() { s, err = d.connect(ctx, t) }, func() {
		if err == nil && s != nil {
			_ = s.Close()
		}
	})
	switch {
	case failed != nil:
		failed.Class = protocol.Connect
		return nil, failed
	case err != nil:
		return nil, connectError(err)
	case s == nil:
		return nil, &protocol.Error{Class: protocol.Connect, Code: CodeSilent, Fatal: true,
			Text: d.about + " returned neither a session nor an error"}
	}
	return &conn{driver: d, session: s}, nil
}

// connectError returns the failure to open a session.
func connectError(err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		e.Class, e.Fatal = protocol.Connect, true
		return e
	}
	return protocol.ConnectError(err.Error(), "", err)
}

// guarded runs do in a goroutine of its own. It returns an error if do panics, ends its goroutine, or doesn't return
// soon after ctx is done. In the last case late runs after do.
func (d *Driver) guarded(ctx context.Context, do, late func()) *protocol.Error {
	c := &call{done: make(chan struct{}, 1)}
	go func() {
		finished := false
		defer func() {
			c.end(d.ending(finished, recover()))
			if c.abandoned() {
				d.left.Add(-1)
			}
		}()
		do()
		finished = true
		if c.abandoned() {
			late()
		}
	}()
	if !c.wait(ctx) && c.abandon(&d.left) {
		return d.late(nil)
	}
	return c.failed
}

// ending returns the failure of foreign code that didn't return: it panicked with a value, or ended its goroutine. It
// must be called by a deferred function of the goroutine.
func (d *Driver) ending(finished bool, value any) *protocol.Error {
	if finished {
		return nil
	}
	e := &protocol.Error{Class: protocol.Client, Code: CodePanic, Fatal: true}
	p := &Panic{Value: value, Stack: debug.Stack()}
	if value == nil {
		e.Code = CodeExit
		e.Text = d.about + " ended its goroutine, as FailNow and Fatal of a test do; return an error instead"
		p.Value = errors.New(e.Text)
	} else {
		e.Text = protocol.Line(fmt.Sprintf("%s panicked at %s: %v", d.about, place(), value), "")
	}
	d.panicked.CompareAndSwap(nil, p)
	if d.onPanic != nil {
		d.onPanic()
	}
	return e
}

// place returns the file and line of the code that panicked: the first frame below the runtime's.
func place() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !inRuntime:
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// late returns the failure of a call that ignored the end of its context.
func (d *Driver) late(r *protocol.Request) *protocol.Error {
	e := protocol.Late(r)
	e.Code = CodeLeft
	e.Text += fmt.Sprintf("; %s ignored the end of its context for %s and was left behind", d.about, grace)
	return e
}

// call is one use of foreign code that may be abandoned.
type call struct {
	done   chan struct{} // receives when the code has returned; has room for one
	failed *protocol.Error
	state  atomic.Int32
}

// The states of a call.
const (
	running int32 = iota
	ended
	left
)

// end is called by the goroutine of the foreign code when that has returned, or failed to.
func (c *call) end(failed *protocol.Error) {
	if c.state.Load() == running {
		c.failed = failed
	}
	if c.state.CompareAndSwap(running, ended) {
		c.done <- struct{}{}
	}
}

// abandoned reports whether the session has abandoned the call.
func (c *call) abandoned() bool { return c.state.Load() == left }

// wait waits until the code has returned. It returns false if that isn't soon after ctx is done.
func (c *call) wait(ctx context.Context) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}

// abandon leaves the call behind and counts it. It returns false if the code has just returned.
func (c *call) abandon(count *atomic.Int64) bool {
	count.Add(1)
	if c.state.CompareAndSwap(running, left) {
		return true
	}
	count.Add(-1)
	<-c.done
	return false
}

// conn is a session with the goroutine in which its calls run.
type conn struct {
	driver  *Driver
	session Session
	caller  *caller // nil until the first call, and after a call was abandoned
	once    sync.Once
	err     error
}

// Do executes a request in the session's own goroutine.
func (c *conn) Do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if !c.driver.free(ctx) {
		reply.Fail(&protocol.Error{Class: protocol.Timeout, Code: CodeLeft,
			Text: fmt.Sprintf("%d calls ignored the end of their context and still run; further ones wait for them", mostLeft)})
		reply.Unsent = true
		return
	}
	if c.caller == nil {
		c.caller = newCaller(c.driver, c.session)
	}
	w := c.caller
	w.prepare(ctx, r, args, reply)
	w.calls <- struct{}{}
	if !w.call.wait(ctx) && w.call.abandon(&c.driver.left) {
		c.caller = nil
		close(w.calls)
		reply.Fail(c.driver.late(r))
		return
	}
	w.answer(reply)
	if w.call.failed != nil {
		c.caller = nil
		reply.Fail(w.call.failed)
	}
}

// Add accepts a request that isn't part of a program: sessions of foreign code prepare nothing.
func (*conn) Add(context.Context, *protocol.Request) error { return nil }

// free waits while too many abandoned calls run. It returns false if ctx ends first.
func (d *Driver) free(ctx context.Context) bool {
	for d.left.Load() >= mostLeft {
		if !protocol.Sleep(ctx, freeEvery) {
			return false
		}
	}
	return true
}

// Close closes the session. It doesn't wait long for foreign code.
func (c *conn) Close() error {
	c.once.Do(func() {
		if c.caller != nil {
			close(c.caller.calls)
			c.caller = nil
		}
		var err error
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if failed := c.driver.guarded(ctx, func() { err = c.session.Close() }, func() {}); failed != nil {
			c.err = failed
			return
		}
		c.err = err
	})
	return c.err
}

// caller is the goroutine of a session's calls and all that they use.
type caller struct {
	driver  *Driver
	session Session
	calls   chan struct{}
	call    *call

	ctx     context.Context
	request *protocol.Request
	args    []gen.Value
	reply   Reply
}

func newCaller(d *Driver, s Session) *caller {
	w := &caller{driver: d, session: s, calls: make(chan struct{}, 1), call: &call{done: make(chan struct{}, 1)}}
	go w.run()
	return w
}

// prepare sets what the next call uses. It copies what belongs to the session, so that nothing of it is used after the
// call is abandoned.
func (w *caller) prepare(ctx context.Context, r *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	w.call.state.Store(running)
	w.call.failed = nil
	w.ctx, w.request = ctx, r
	if cap(w.args) < len(args) {
		w.args = make([]gen.Value, len(args))
	}
	w.args = w.args[:len(args)]
	for i := range args {
		buffer := w.args[i].B
		w.args[i] = args[i]
		if args[i].B != nil {
			w.args[i].B = append(buffer[:0], args[i].B...)
		}
	}
	w.reply.Reset(len(reply.Captured))
	w.reply.Columns, w.reply.Values = nil, nil
}

// answer copies the reply of the last call.
func (w *caller) answer(reply *protocol.Reply) {
	captured := reply.Captured
	for i := range captured {
		captured[i].Set(&w.reply.Captured[i])
	}
	each := reply.Each
	*reply = w.reply.Reply
	reply.Captured, reply.Each = captured, each
	if each != nil && w.call.failed == nil {
		for _, row := range w.reply.Values {
			each(w.reply.Columns, row)
		}
	}
}

// run executes calls until there are no more, one was abandoned, or the foreign code ended the goroutine.
func (w *caller) run() {
	for range w.calls {
		if !w.once() {
			return
		}
	}
}

// once executes a call. It returns false if the goroutine isn't to be used again.
func (w *caller) once() (again bool) {
	finished := false
	defer func() {
		w.call.end(w.driver.ending(finished, recover()))
		again = finished && !w.call.abandoned()
		if w.call.abandoned() {
			w.driver.left.Add(-1)
		}
	}()
	w.session.Do(w.ctx, w.request, w.args, &w.reply)
	finished = true
	return true
}
