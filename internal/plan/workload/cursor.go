package workload

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Move is what the caller of a Cursor must do next.
type Move uint8

// The moves.
const (
	Over  Move = iota // nothing: the operation has ended with Failure as its result
	Send              // send Request with Args; then call Answered, Failed or Broken
	Think             // wait for Pause; then call Resume, or Expire if the operation's timeout comes first
	Retry             // wait before another attempt; then as for Think
	Fork              // send Request with the arguments of each of Lanes; then call Joined, or Failed
)

// Rules determine which failed attempts at an operation are repeated.
type Rules struct {
	Retries      int  // maximum number of repetitions, after failures of class Retryable that leave the session usable
	EveryFailure bool // repeat after any failure; the caller reconnects before it resumes
}

// Cursor runs one operation after the other: steps, arguments, captures, checks, retries, and the rollback after a
// failure inside a transaction. It is a state machine: it returns what to do next and is told the result. Sending,
// waiting and measuring are up to the caller. Both tiers use it, so that an operation has the same meaning in either.
// It is used by one session (or one place of a session's pipeline), and allocates nothing for an operation that it has
// run before.
//
// The steps of operations that are scripts come from the session's program instead; see script.go.
type Cursor struct {
	// The fields that every operation needs come first, so that they share few cache lines: a pipelined load has
	// hundreds of cursors.
	work    *Workload
	op      *Operation
	request *protocol.Request
	args    []gen.Value
	Index   uint64 // number of the operation
	EndNs   int64  // when the last attempt was answered or failed
	protocol.Facts
	Operation int // index in the workload's Operations
	Attempts  int // number of attempts, including the current one
	step      int
	filled    int // number of steps whose arguments were generated
	phase     phase
	news      bool             // TakeFailure hasn't returned Failure yet
	unsure    bool             // a failed attempt may have been applied
	traced    bool             // its steps go to Workload.Trace
	Failure   protocol.Failure // of the last attempt; Class OK if it succeeded

	session int
	state   State
	rules   Rules
	pause   time.Duration
	timings []Timing  // of the attempt's requests; empty unless Workload.TimedRequests is set
	script  *scripted // the session's scripts; nil if the workload has none
	counted []uint32  // what a script counted; see Counts
}

// phase is the state of a Cursor.
type phase uint8

const (
	over phase = iota
	requesting
	rollingBack
	thinking
	backingOff
)

// NewCursor returns a cursor over a workload's operations, for the session with a number from 0.
func (w *Workload) NewCursor(session int, rules Rules) Cursor {
	return Cursor{work: w, session: session, rules: rules, script: w.scripts.session(session)}
}

// Begin starts operation number index.
func (c *Cursor) Begin(index uint64) Move {
	c.Operation, c.Index, c.Attempts, c.EndNs = c.choose(index), index, 1, 0
	c.Facts = protocol.Facts{}
	c.traced = c.work.Trace.has(index)
	c.op = &c.work.Operations[c.Operation]
	if c.op.verified && c.work.Begins != nil {
		c.work.Begins(index)
	}
	c.step, c.filled, c.news, c.unsure = 0, 0, false, false
	c.forgive()
	if c.work.TimedRequests != nil {
		c.forgetTimings()
	}
	if c.op.script >= 0 {
		c.script.began, c.counted = false, nil
		return c.follow(c.script.Begin(c.op.script, index), false, 0)
	}
	return c.send()
}

// forgive resets Failure after a success. It checks first, because failures are rare and writing a Failure is slower
// than the check.
func (c *Cursor) forgive() {
	if c.Failure.Class != protocol.OK {
		c.Failure = protocol.Failure{}
	}
}

func (c *Cursor) forgetTimings() {
	if len(c.timings) > 0 {
		c.timings = c.timings[:0]
	}
}

// Request returns the request to send.
func (c *Cursor) Request() *protocol.Request { return c.request }

// Args returns the values of the request's parameters. They are valid until the next call.
func (c *Cursor) Args() []gen.Value {
	if len(c.request.Params) == 0 { // a wrong request may have no parameters although its step has some
		return nil
	}
	return c.args
}

// Pause returns the length of the pause.
func (c *Cursor) Pause() time.Duration { return c.pause }

// Continues reports whether another request will probably follow the answer.
func (c *Cursor) Continues() bool {
	if c.op.script >= 0 {
		return !c.script.last
	}
	return c.phase == rollingBack || c.step+1 < len(c.op.Steps)
}

// Scripted reports whether the operation is a script.
func (c *Cursor) Scripted() bool { return c.op.script >= 0 }

// RollingBack reports whether the request ends a failed transaction. Such a request has its own timeout.
func (c *Cursor) RollingBack() bool { return c.phase == rollingBack }

// First reports whether the request is the operation's first.
func (c *Cursor) First() bool {
	if c.op.script >= 0 {
		return c.script.first && c.phase == requesting
	}
	return c.step == 0 && c.phase == requesting
}

// Role returns the role of the nodes that may serve the operation.
func (c *Cursor) Role() protocol.Role { return c.op.Role }

// Key returns the hash of the parameter that selects the operation's node, or the bucket of the operation's sharding
// key; ok is false if there is neither. It may be called while the request is the operation's First. It allocates
// nothing.
func (c *Cursor) Key() (hash uint64, ok bool) {
	if c.op.keyParam < 0 && c.op.bucket == nil {
		return 0, false
	}
	args := c.args
	if step := c.op.keyStep; step > c.step {
		if c.filled <= step { // step 0 is BEGIN, which has no arguments
			c.filled = step + 1
			args = c.work.Args(&c.state, c.Operation, step, c.Index)
		} else {
			args = c.work.Again(&c.state, c.Operation, step)
		}
	}
	if c.op.bucket != nil {
		return c.op.bucket.Bucket(args), true
	}
	return hashOf(&args[c.op.keyParam]), true
}

// Placed records whether the node of the request's bucket is known and, if so, whether the request is sent there.
func (c *Cursor) Placed(known, right bool) {
	c.Unmapped = c.Unmapped || !known
	c.Misdirected = c.Misdirected || known && !right
}

// hashOf returns a hash that is equal for equal values of the same kind, on every machine.
func hashOf(v *gen.Value) uint64 {
	switch v.Kind {
	case gen.String, gen.Bytes, gen.UUID, gen.JSON, gen.Number, gen.Packed:
		return xxhash.Sum64(v.B)
	case gen.Float:
		return hashOfBits(math.Float64bits(v.F))
	}
	return hashOfBits(uint64(v.I))
}

func hashOfBits(n uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return xxhash.Sum64(b[:])
}

// TakeFailure returns the failure of an attempt since the last call; nil if there was none.
func (c *Cursor) TakeFailure() *protocol.Failure {
	if !c.news {
		return nil
	}
	c.news = false
	return &c.Failure
}

// Answered continues after the answer to a request. sentNs and endNs are the times of the request and the answer on the
// run's clock. It sets r.Fatal if the session must be closed.
func (c *Cursor) Answered(r *protocol.Reply, sentNs, endNs int64) Move {
	if c.traced {
		c.traceAnswered(r, sentNs, endNs)
	}
	r.EndStream(endNs - sentNs)
	if c.phase == rollingBack {
		r.Fatal = r.Fatal || r.Class != protocol.OK
		return c.conclude()
	}
	if c.request.Creates != protocol.Unasked {
		c.created(r)
	}
	c.Absorb(r, c.op.Steps[c.step].kind)
	if c.work.TimedRequests != nil {
		c.timings = append(c.timings, Timing{
			Operation: c.Operation, Step: c.step, Index: c.Index, Class: r.Class, Session: c.session,
			IntendedNs: sentNs, SentNs: sentNs, EndNs: endNs, Code: r.Code, Text: r.Text,
		})
	}
	if c.op.script >= 0 {
		return c.follow(c.script.Answered(r), r.Fatal, endNs)
	}
	if w := c.op.Steps[c.step].wrong; w != nil && c.request == w.request {
		return c.refused(w, r, endNs)
	}
	if r.Class != protocol.OK {
		return c.fail(r.Failure, endNs)
	}
	if len(c.request.Capture) > 0 {
		c.state.Capture(c.step, r)
		if check := c.work.Check; check != nil {
			if f := check(c.Operation, c.step, &c.state); f.Class != protocol.OK {
				f.Fatal = f.Fatal || r.Fatal
				return c.fail(f, endNs)
			}
		}
	}
	return c.advance(r.Fatal, endNs)
}

// created decides what the answer to a request that is to create a record means, if the record was there already: a
// failure, unless an earlier load, or an earlier attempt at this operation, may have created it.
func (c *Cursor) created(r *protocol.Reply) {
	f, not := c.request.Uncreated(r)
	switch {
	case !not:
	case c.unsure || c.request.Creates == protocol.MayExist:
		r.Failure, r.Missing = protocol.Failure{Fatal: f.Fatal}, !c.unsure
	default:
		r.Failure, r.Missing = f, false
	}
}

// advance continues with the next step after a success. closed means that the server closed the connection.
func (c *Cursor) advance(closed bool, endNs int64) Move {
	if c.step+1 == len(c.op.Steps) {
		c.phase, c.EndNs = over, endNs
		c.forgive()
		return Over
	}
	if closed {
		return c.fail(protocol.Failure{Class: protocol.Connect,
			Text: "the server closed the connection between two statements", Fatal: true}, endNs)
	}
	c.step++
	if s := &c.op.Steps[c.step]; len(s.texts) > 0 {
		if f := c.lacking(s); f.Class != protocol.OK {
			return c.fail(f, endNs)
		}
	}
	if t := &c.op.Steps[c.step-1].Think; t.Min > 0 || t.Max > 0 {
		if c.pause = c.work.ThinkTime(c.Operation, c.step-1, c.Index); c.pause > 0 {
			c.phase = thinking
			return Think
		}
	}
	return c.send()
}

// send prepares the current step's request.
func (c *Cursor) send() Move {
	s := &c.op.Steps[c.step]
	if c.step >= c.filled {
		c.filled = c.step + 1
		c.args = s.fill(&c.state, c.step, c.Index)
	} else {
		c.args = c.work.Again(&c.state, c.Operation, c.step)
	}
	c.phase, c.request = requesting, s.For(c.Index)
	if c.traced {
		c.traceDrawn()
	}
	return Send
}

// Failed continues after a request that could not be sent for a reason that leaves the session usable, or that lies
// outside the request.
func (c *Cursor) Failed(f protocol.Failure, atNs int64) Move {
	if c.traced {
		c.traceFailed(f, atNs)
	}
	if c.phase == rollingBack {
		return c.conclude()
	}
	if c.op.script >= 0 {
		return c.tellScript(f, atNs)
	}
	return c.fail(f, atNs)
}

// Broken continues after the loss of the session, in any phase. f is the operation's failure, unless it had failed
// before.
func (c *Cursor) Broken(f protocol.Failure, atNs int64) Move {
	if c.traced {
		c.traceFailed(f, atNs)
	}
	switch c.phase {
	case rollingBack:
		return c.conclude()
	case backingOff:
		c.phase = over
		return Over
	}
	f.Fatal = true
	if c.op.script >= 0 {
		return c.tellScript(f, atNs)
	}
	return c.fail(f, atNs)
}

// Resume continues after a pause.
func (c *Cursor) Resume() Move {
	if c.op.script >= 0 {
		return c.resumeScript()
	}
	if c.phase == backingOff {
		c.Attempts++
		c.step = 0
		c.forgetTimings()
	}
	return c.send()
}

// Expire continues when the operation's timeout ends a pause.
func (c *Cursor) Expire(atNs int64) Move {
	if c.phase == backingOff {
		c.phase = over
		return Over
	}
	f := protocol.Failure{Class: protocol.Timeout, Text: "the operation's timeout passed during its think time"}
	if c.op.script >= 0 {
		return c.tellScript(f, atNs)
	}
	return c.fail(f, atNs)
}

// fail ends an attempt. If it is inside a transaction, the transaction is rolled back first. BEGIN is step 0: if it
// failed, there is nothing to roll back.
func (c *Cursor) fail(f protocol.Failure, atNs int64) Move {
	f.Class = c.request.ClassOf(f.Class)
	c.Failure, c.EndNs, c.news = f, atNs, true
	if c.op.verified || c.request.Creates != protocol.Unasked {
		c.doubt(&f)
	}
	if f.Fatal || c.step == 0 || c.op.Rollback == nil {
		return c.conclude()
	}
	c.phase, c.request, c.args = rollingBack, c.op.Rollback, nil
	return Send
}

// UnexpectedSuccess is the code of the failure that a server executed a wrong request which it should have refused.
const UnexpectedSuccess = "unexpected-success"

// refused continues after the answer to a wrong request. If the answer is the expected error, the operation succeeds.
func (c *Cursor) refused(w *wrong, r *protocol.Reply, endNs int64) Move {
	switch {
	case r.Class == protocol.OK:
		return c.fail(protocol.Failure{Class: protocol.Server, Code: UnexpectedSuccess, Fatal: r.Fatal,
			Text: "a wrong request succeeded; expected is " + w.expect}, endNs)
	case !w.expects(&r.Failure):
		return c.fail(r.Failure, endNs)
	}
	fatal := r.Fatal
	c.Failure, c.EndNs = protocol.Failure{}, endNs
	r.Failure = protocol.Failure{Fatal: fatal}
	if !fatal && c.step > 0 && c.op.Rollback != nil {
		c.phase, c.request, c.args = rollingBack, c.op.Rollback, nil
		return Send
	}
	c.phase = over
	return Over
}

// conclude returns what follows a failed attempt that has no open transaction any more.
func (c *Cursor) conclude() Move {
	f := &c.Failure
	if f.Class != protocol.OK && c.Attempts <= c.rules.Retries &&
		(c.rules.EveryFailure && f.Code != protocol.NothingInserted || f.Class == protocol.Retryable && !f.Fatal) {
		c.phase = backingOff
		return Retry
	}
	c.phase = over
	return Over
}

// Rest returns the think time after the operation.
func (c *Cursor) Rest() time.Duration {
	if c.work.scripts != nil {
		switch s := c.script; {
		case s.waiter != nil:
			return 0
		case s.rester != nil:
			return s.rester.Rest()
		}
	}
	if t := &c.op.Think; t.Min <= 0 && t.Max <= 0 {
		return 0
	}
	return c.work.ThinkTime(c.Operation, -1, c.Index)
}

// tellRequests reports the requests of the last attempt.
func (c *Cursor) tellRequests() {
	for _, t := range c.timings {
		c.work.TimedRequests(t)
	}
	c.forgetTimings()
}

// ReportUnfinished reports an operation that was cut off to the workload's hooks. address is where it was sent, sentNs
// when it was sent (0 if it wasn't), and endNs when it was cut off.
func (c *Cursor) ReportUnfinished(address int, sentNs, endNs int64) {
	if c.traced {
		c.traceEnd(TraceCutOff, address, 0, sentNs, endNs)
	}
	c.tellRequests()
	if sentNs != 0 {
		c.wrote(address, sentNs, endNs, protocol.Unsure)
	}
	if c.work.Done != nil {
		c.work.Done(c.Operation, c.Index, protocol.UnknownOutcome)
	}
}

// Tell reports a finished operation to the workload's hooks: the address to which it was sent, when it was meant to be
// sent, and when it was sent. Times are on the run's clock.
func (c *Cursor) Tell(address int, intendedNs, sentNs int64) {
	if c.traced {
		c.traceEnd(TraceRecorded, address, intendedNs, sentNs, c.EndNs)
	}
	if c.op.verified {
		c.wrote(address, sentNs, c.EndNs, c.effect())
	}
	if c.work.Timed != nil || c.work.TimedRequests != nil || c.work.Done != nil {
		c.tell(intendedNs, sentNs)
	}
}

func (c *Cursor) tell(intendedNs, sentNs int64) {
	c.tellRequests()
	if c.work.Timed != nil {
		c.work.Timed(Timing{
			Operation: c.Operation, Index: c.Index, Class: c.Failure.Class,
			IntendedNs: intendedNs, SentNs: sentNs, EndNs: c.EndNs,
			Session: c.session, Attempts: c.Attempts, Code: c.Failure.Code, Text: c.Failure.Text,
			Facts: c.Facts,
		})
	}
	if c.work.Done != nil {
		c.work.Done(c.Operation, c.Index, c.Failure.Class)
	}
}
