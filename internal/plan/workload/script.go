package workload

import (
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// scripts are the compiled scripts of a plan.
type scripts struct {
	program    script.Program
	operations []int // indexes in Workload.Operations
	all        bool  // every operation is a script
	before     int   // sessions of other workers that come before the first one here
}

// newScripts returns nil if no operation is a script.
func newScripts(p *plan.Plan, program script.Program) *scripts {
	if program == nil {
		return nil
	}
	all := p.Scripted()
	return &scripts{program: program, operations: all, all: len(all) == len(p.Operations),
		before: p.Settings.SessionsBefore}
}

// Scripts returns the compiled scripts of the plan; nil if no operation is a script.
func (w *Workload) Scripts() script.Program {
	if w.scripts == nil {
		return nil
	}
	return w.scripts.program
}

// Renews reports whether scripts ask for new connections.
func (w *Workload) Renews() bool {
	r, ok := w.Scripts().(script.Renewing)
	return ok && r.Renews()
}

// ScriptRequests returns the indexes of those of Program.Requests that scripts may send.
func (w *Workload) ScriptRequests() map[int]bool {
	all := map[int]bool{}
	for i := range w.Operations {
		if w.Operations[i].script < 0 {
			continue
		}
		for _, step := range w.Operations[i].Steps {
			all[step.Request.ID] = true
		}
	}
	return all
}

// session returns the scripts of a session; s may be nil.
func (s *scripts) session(number int) *scripted {
	if s == nil {
		return nil
	}
	c := &scripted{Session: s.program.Session(s.before + number)}
	c.rester, _ = c.Session.(script.Rester)
	c.aborter, _ = c.Session.(script.Aborter)
	if s.all {
		c.chooser, _ = c.Session.(script.Chooser)
		c.waiter, _ = c.Session.(script.Waiter)
	}
	return c
}

// ScriptProgram returns the compiled scripts of the plan, for dialects that print what their sessions have counted; nil
// if no operation is a script.
func (w *Workload) ScriptProgram() script.Program {
	if w.scripts == nil {
		return nil
	}
	return w.scripts.program
}

// scripted is what a Cursor knows of its session's scripts.
type scripted struct {
	script.Session
	chooser     script.Chooser // nil if the plan chooses
	rester      script.Rester  // nil: the operation's Think
	waiter      script.Waiter  // nil: it begins operations whenever it is free
	aborter     script.Aborter // nil: it doesn't give up
	began       bool           // a request of the attempt has been sent
	first, last bool           // the request is the attempt's first; it is expected to be its last
	quit        bool           // the session takes no further operations
	renew       bool           // the next operation has a new connection
	lanes       script.Lanes   // of the requests in flight together
	silence     time.Duration  // the longest that the server may send nothing; 0: no limit
	reply       protocol.Reply // of requests without one
}

// scripted adds the requests of an operation that is a script.
func (c *compiler) scripted(op *plan.Operation, out *Operation) {
	for i := range c.plan.Operations {
		if c.plan.Operations[i].Script == "" {
			continue
		}
		out.script++
		if &c.plan.Operations[i] == op {
			break
		}
	}
	if counting, ok := c.program.(script.Counting); ok {
		out.Counters = counting.Counters(out.script)
	}
	for i := range op.Steps {
		r := op.Steps[i].Request
		r.Name = op.RequestName(i)
		out.Steps = append(out.Steps, Step{kind: r.Kind(), Request: c.add(r)})
	}
}

// choose returns the index of operation number index.
func (c *Cursor) choose(index uint64) int {
	if c.work.scripts != nil && c.script.chooser != nil {
		return c.work.scripts.operations[c.script.chooser.Choose(index)]
	}
	return c.work.Pick(index)
}

// follow does what a script says. lost means that the connection is lost.
func (c *Cursor) follow(next script.Step, lost bool, atNs int64) Move {
	s := c.script
	switch {
	case next.Move == script.Send && !lost:
		s.first, s.began = !s.began, true
		s.last, s.silence = next.Last, next.Silence
		c.step, c.args = next.Request, next.Args
		c.request = c.op.Steps[c.step].Request
		c.phase = requesting
		if c.traced {
			c.traceDrawn()
		}
		return Send
	case next.Move == script.Fork && !lost:
		s.first, s.began, s.last = !s.began, true, true
		s.lanes, s.silence = next.Lanes, next.Silence
		c.step = next.Request
		c.request = c.op.Steps[c.step].Request
		c.phase = requesting
		return Fork
	case next.Move == script.Pause && !lost:
		c.phase, c.pause = thinking, next.Pause
		return Think
	case next.Move != script.End:
		next.Failure = protocol.Failure{Class: protocol.Connect, Fatal: true,
			Text: "the connection was lost between two requests of the script"}
	}
	s.quit, s.renew = next.Quit, next.Renew
	c.EndNs = atNs
	if c.Failure = next.Failure; c.Failure.Class == protocol.OK {
		c.phase = over
		c.counted = next.Counts
		return Over
	}
	c.Failure.Class = c.request.ClassOf(c.Failure.Class)
	c.news = true
	return c.conclude()
}

// tellScript tells a script about a failure without an answer.
func (c *Cursor) tellScript(f protocol.Failure, atNs int64) Move {
	c.script.reply.Reset(0)
	c.script.reply.Failure = f
	return c.follow(c.script.Answered(&c.script.reply), f.Fatal, atNs)
}

// resumeScript continues a script after a pause, or begins it once more.
func (c *Cursor) resumeScript() Move {
	if c.phase != backingOff {
		return c.follow(c.script.Resume(), false, 0)
	}
	c.Attempts++
	c.EndNs = 0
	c.forgetTimings()
	c.script.began = false
	return c.follow(c.script.Again(), false, 0)
}

// Ended says when the operation ended, if it ended without an answer.
func (c *Cursor) Ended(atNs int64) {
	if c.EndNs == 0 {
		c.EndNs = atNs
	}
}

// Wait is called before an operation of a closed load. It returns how long the session pauses before Wait is called
// again, zero if the operation begins, or that the session takes no further operations.
func (c *Cursor) Wait() (pause time.Duration, quit bool) {
	if c.script == nil || c.script.waiter == nil {
		return 0, false
	}
	if pause, quit = c.script.waiter.Wait(); quit {
		c.script.quit = true
	}
	return max(pause, 0), quit
}

// Renews reports whether the session's next operation has a new connection, because a script said so.
func (c *Cursor) Renews() bool { return c.work.scripts != nil && c.script.renew }

// Lanes returns what to send after Fork.
func (c *Cursor) Lanes() script.Lanes { return c.script.lanes }

// LaneAnswered takes the answer to one of the requests of Lanes, for the script and for what the operation counts.
func (c *Cursor) LaneAnswered(number int, r *protocol.Reply) {
	c.Absorb(r, c.op.Steps[c.step].kind)
	c.script.lanes.Answered(number, r)
}

// Joined continues after the last answer of Lanes.
func (c *Cursor) Joined(atNs int64) Move {
	c.script.lanes = nil
	return c.follow(c.script.Resume(), false, atNs)
}

// Silence returns how long the server may send nothing before the request fails; 0: as long as the operation's timeout
// lets it.
func (c *Cursor) Silence() time.Duration {
	if c.op.script < 0 {
		return 0
	}
	return c.script.silence
}

// Quits reports whether the session takes no further operations, because a script said so.
func (c *Cursor) Quits() bool { return c.work.scripts != nil && c.script.quit }

// TakeAborted reports, once, that the session has quit because of a failure.
func (c *Cursor) TakeAborted() bool {
	if !c.Quits() || c.script.aborter == nil || !c.script.aborter.Aborted() {
		return false
	}
	c.script.aborter = nil
	return true
}

// Counts returns what the operation counted if it is a script; nil for other operations, and after a failure.
func (c *Cursor) Counts() []uint32 {
	if c.op.script < 0 {
		return nil
	}
	return c.counted
}
