package workload

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// Move is what a Cursor wants done next.
type Move uint8

// The moves.
const (
	Over  Move = iota // nothing: the operation has ended as Failure says
	Send              // send Request with Args; then call Answered, Failed or Broken
	Think             // wait for Pause; then call Resume, or Expire if the operation's time is over first
	Retry             // wait before a further attempt; then as Think
)

// Rules say which failed attempts at an operation are repeated.
type Rules struct {
	Retries      int  // further attempts, after failures of class Retryable that leave the session usable
	EveryFailure bool // after any failure; the caller connects again before it resumes
}

// Cursor carries one operation after the other from its first request to its end: steps, arguments,
// captures, checks, retries, and the roll-back that follows a failure inside a transaction, once. It
// says what to do and is told what came of it; sending, waiting and measuring are its caller's. Both
// tiers use it, so that an operation means the same on either. It is used by one session (or one
// place of a session's pipeline) and allocates nothing once it has been used for the operation before.
//
// Where further kinds of step belong: the step that follows is chosen in advance alone, so that is
// where conditions branch; what outlives an operation (a script's variables, a stream of random
// numbers of the session's own) belongs next to State, and Begin leaves it as it is; a block of
// requests sent before the first is answered is a Send that follows a Send, with a second position
// for what has been answered.
type Cursor struct {
	// What every operation needs comes first, so that it is in few cache lines: a pipelined load has hundreds of
	// cursors.
	work      *Workload
	op        *Operation
	request   *protocol.Request
	args      []gen.Value
	Index     uint64 // the operation's number
	EndNs     int64  // when the last attempt had its answer, or failed
	BytesIn   int64  // of all answers
	Operation int    // which of the workload's
	Attempts  int    // so far, the present one included
	step      int
	filled    int // how many steps have their arguments
	phase     phase
	news      bool // Failure hasn't been taken
	unsure    bool // an attempt that failed may have been applied
	Missing   bool // an answer lacked what was asked for
	BadHash   bool // an answer's hash was wrong
	// Misdirected says that a request went to a node that doesn't have its key.
	Misdirected bool
	// Unmapped says that nobody knew which node has the bucket of its key.
	Unmapped bool
	Missed   protocol.Kind    // what the last request was that found nothing
	Status   int              // HTTP: of the last answer that had one
	Failure  protocol.Failure // of the last attempt; Class OK if it succeeded

	state   State
	rules   Rules
	pause   time.Duration
	timings []Timing // of the attempt's requests, while somebody wants them
}

// phase is where a Cursor stands.
type phase uint8

const (
	over phase = iota
	requesting
	rollingBack
	thinking
	backingOff
)

// NewCursor returns a cursor over a workload's operations.
func (w *Workload) NewCursor(rules Rules) Cursor { return Cursor{work: w, rules: rules} }

// Begin starts operation number index.
func (c *Cursor) Begin(index uint64) Move {
	c.Operation, c.Index, c.Attempts, c.EndNs = c.work.Pick(index), index, 1, 0
	c.Status, c.BytesIn, c.Missing, c.BadHash, c.Misdirected, c.Unmapped = 0, 0, false, false, false, false
	c.op = &c.work.Operations[c.Operation]
	if c.op.verified && c.work.Begins != nil {
		c.work.Begins(index)
	}
	c.step, c.filled, c.news, c.unsure = 0, 0, false, false
	c.forgive()
	c.forgetTimings()
	return c.send()
}

// forgive makes the last attempt one that didn't fail. Few have failed, and writing a Failure takes longer than
// looking.
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

// Request is what to send.
func (c *Cursor) Request() *protocol.Request { return c.request }

// Args are the values of the request's parameters, valid until the next call.
func (c *Cursor) Args() []gen.Value {
	if len(c.request.Params) == 0 { // a wrong request may take none where its step has some
		return nil
	}
	return c.args
}

// Pause is how long to think.
func (c *Cursor) Pause() time.Duration { return c.pause }

// Continues reports whether the answer to the request leads to a further one in all likelihood.
func (c *Cursor) Continues() bool { return c.phase == rollingBack || c.step+1 < len(c.op.Steps) }

// RollingBack reports whether the request ends a failed transaction. It has a time-out of its own.
func (c *Cursor) RollingBack() bool { return c.phase == rollingBack }

// First reports whether the request is the operation's first.
func (c *Cursor) First() bool { return c.step == 0 && c.phase == requesting }

// Role is that of the nodes that may serve the operation.
func (c *Cursor) Role() protocol.Role { return c.op.Role }

// Key is a hash of the parameter by which the operation's node is chosen, or the bucket of its sharding key; ok is
// false if none is named. It may be asked for while the request is the operation's First, and allocates nothing.
func (c *Cursor) Key() (hash uint64, ok bool) {
	if c.op.keyParam < 0 && c.op.bucket == nil {
		return 0, false
	}
	args := c.args
	if step := c.op.keyStep; step > c.step {
		if c.filled <= step { // BEGIN comes before it, which has no arguments
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

// Placed notes whether the node of the request's bucket is known, and if so whether the request goes there.
func (c *Cursor) Placed(known, right bool) {
	c.Unmapped = c.Unmapped || !known
	c.Misdirected = c.Misdirected || known && !right
}

// hashOf is the same for equal values of a kind, on every machine.
func hashOf(v *gen.Value) uint64 {
	switch v.Kind {
	case gen.String, gen.Bytes, gen.UUID, gen.JSON:
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

// TakeFailure returns how an attempt has failed since the last call, or nil.
func (c *Cursor) TakeFailure() *protocol.Failure {
	if !c.news {
		return nil
	}
	c.news = false
	return &c.Failure
}

// Answered goes on after the answer to a request that was sent and answered at the times given, on the
// run's clock. It makes r.Fatal true if the session must be given up.
func (c *Cursor) Answered(r *protocol.Reply, sentNs, endNs int64) Move {
	if c.phase == rollingBack {
		r.Fatal = r.Fatal || r.Class != protocol.OK
		return c.conclude()
	}
	c.absorb(r)
	if c.work.Timed != nil {
		c.timings = append(c.timings, Timing{
			Operation: c.Operation, Step: c.step, Index: c.Index, Class: r.Class,
			IntendedNs: sentNs, SentNs: sentNs, EndNs: endNs,
		})
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

// absorb adds what a reply says about the operation as a whole.
func (c *Cursor) absorb(r *protocol.Reply) {
	c.BytesIn += r.BytesIn
	if r.Missing {
		c.Missing, c.Missed = true, c.op.Steps[c.step].kind
	}
	c.BadHash = c.BadHash || r.BadHash
	c.Misdirected = c.Misdirected || r.Misdirected
	if r.Status != 0 {
		c.Status = r.Status
	}
}

// advance goes on to the step that follows one that succeeded.
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
	if t := &c.op.Steps[c.step-1].Think; t.Min > 0 || t.Max > 0 {
		if c.pause = c.work.ThinkTime(c.Operation, c.step-1, c.Index); c.pause > 0 {
			c.phase = thinking
			return Think
		}
	}
	return c.send()
}

// send prepares the present step's request.
func (c *Cursor) send() Move {
	s := &c.op.Steps[c.step]
	if c.step >= c.filled {
		c.filled = c.step + 1
		c.args = s.fill(&c.state, c.step, c.Index)
	} else {
		c.args = c.work.Again(&c.state, c.Operation, c.step)
	}
	c.phase, c.request = requesting, s.For(c.Index)
	return Send
}

// Failed goes on after a request that could not be sent although the session is usable, or not for the
// request's sake.
func (c *Cursor) Failed(f protocol.Failure, atNs int64) Move {
	if c.phase == rollingBack {
		return c.conclude()
	}
	return c.fail(f, atNs)
}

// Broken goes on after the loss of the session, in whatever phase: f is how the operation fails unless
// it had failed before.
func (c *Cursor) Broken(f protocol.Failure, atNs int64) Move {
	switch c.phase {
	case rollingBack:
		return c.conclude()
	case backingOff:
		c.phase = over
		return Over
	}
	f.Fatal = true
	return c.fail(f, atNs)
}

// Resume goes on after a pause.
func (c *Cursor) Resume() Move {
	if c.phase == backingOff {
		c.Attempts++
		c.step = 0
		c.forgetTimings()
	}
	return c.send()
}

// Expire goes on when the operation's time is over during a pause.
func (c *Cursor) Expire(atNs int64) Move {
	if c.phase == backingOff {
		c.phase = over
		return Over
	}
	return c.fail(protocol.Failure{Class: protocol.Timeout, Text: "the operation's timeout passed during its think time"},
		atNs)
}

// fail ends an attempt, its transaction first if there is one. BEGIN is step 0: if that failed there is
// nothing to end.
func (c *Cursor) fail(f protocol.Failure, atNs int64) Move {
	c.Failure, c.EndNs, c.news = f, atNs, true
	if c.op.verified {
		c.doubt(&f)
	}
	if f.Fatal || c.step == 0 || c.op.Rollback == nil {
		return c.conclude()
	}
	c.phase, c.request, c.args = rollingBack, c.op.Rollback, nil
	return Send
}

// UnexpectedSuccess is the code of a failure that is a success: of a wrong request that a server didn't refuse.
const UnexpectedSuccess = "unexpected-success"

// refused goes on after the answer to a wrong request: the error that must come ends the operation as a success.
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

// conclude decides what follows a failed attempt of which nothing is outstanding any more.
func (c *Cursor) conclude() Move {
	f := &c.Failure
	if f.Class != protocol.OK && c.Attempts <= c.rules.Retries &&
		(c.rules.EveryFailure || f.Class == protocol.Retryable && !f.Fatal) {
		c.phase = backingOff
		return Retry
	}
	c.phase = over
	return Over
}

// Rest is the think time after the operation.
func (c *Cursor) Rest() time.Duration {
	if t := &c.op.Think; t.Min <= 0 && t.Max <= 0 {
		return 0
	}
	return c.work.ThinkTime(c.Operation, -1, c.Index)
}

// tellRequests tells of the last attempt's requests: those of an attempt that was repeated would count as
// further operations.
func (c *Cursor) tellRequests() {
	for _, t := range c.timings {
		c.work.Timed(t)
	}
	c.forgetTimings()
}

// TellUnfinished tells the workload's hooks of an operation that was cut off: when, where it was sent to, and when it
// was sent, 0 if it wasn't.
func (c *Cursor) TellUnfinished(address int, sentNs, endNs int64) {
	c.tellRequests()
	if sentNs != 0 {
		c.wrote(address, sentNs, endNs, protocol.Unsure)
	}
	if c.work.Done != nil {
		c.work.Done(c.Operation, c.Index, protocol.UnknownOutcome)
	}
}

// Tell tells the workload's hooks of an operation that is over: where it was sent to, when it was meant to be sent and
// when it was. Times are on the run's clock.
func (c *Cursor) Tell(address int, intendedNs, sentNs int64) {
	if c.op.verified {
		c.wrote(address, sentNs, c.EndNs, c.effect())
	}
	if c.work.Timed != nil || c.work.Done != nil {
		c.tell(intendedNs, sentNs)
	}
}

func (c *Cursor) tell(intendedNs, sentNs int64) {
	c.tellRequests()
	if c.work.Timed != nil {
		c.work.Timed(Timing{
			Operation: c.Operation, Step: WholeOperation, Index: c.Index, Class: c.Failure.Class,
			IntendedNs: intendedNs, SentNs: sentNs, EndNs: c.EndNs,
		})
	}
	if c.work.Done != nil {
		c.work.Done(c.Operation, c.Index, c.Failure.Class)
	}
}
