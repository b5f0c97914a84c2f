package workload

import (
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Verify describes how the write of a step is read back.
type Verify struct {
	Read   int   // index in Workload.Reads; the request's parameters are those of Key
	Group  int   // equal for steps that write the same keys, which are read back by the same request
	Key    []int // indices of the step's parameters that are the key
	Expect []int // indices of the step's parameters that Read must return
	Absent bool  // the step deletes the key
	One    bool  // reading from one address is enough; otherwise every address is read
}

// Written is the result of an operation that writes. Times are in nanoseconds on the run's clock.
type Written struct {
	Operation int
	Index     uint64
	Address   int
	SentNs    int64 // of the first attempt
	EndNs     int64
	Effect    protocol.Effect
}

// verify returns the Verify of a step.
func (c *compiler) verify(s *plan.Step, kinds []gen.Kind) *Verify {
	v := s.Verify
	out := &Verify{Key: v.Keys(), Expect: v.Expect, Absent: s.Request.Kind() == protocol.KindDelete, One: v.From == "one"}
	r := v.Read
	r.Name, r.Params, r.Capture = "verify", nil, append([]protocol.Capture(nil), r.Capture...)
	for _, k := range out.Key {
		r.Params = append(r.Params, kinds[k])
	}
	same := fmt.Sprint(r.Verb, "\x00", r.Text, "\x00", r.Words, "\x00", r.Fields, "\x00", r.Capture, "\x00", r.Params)
	if r.Web != nil {
		same += fmt.Sprintf("\x00%v", *r.Web)
	}
	group, again := c.groups[same]
	if !again {
		group = len(c.groups)
		c.groups[same] = group
	}
	for i := range min(len(r.Capture), len(v.Expect)) {
		if r.Capture[i].Kind == gen.Null {
			r.Capture[i].Kind = kinds[v.Expect[i]]
		}
	}
	r.ID = len(c.reads)
	c.reads = append(c.reads, r)
	out.Read, out.Group = r.ID, group
	return out
}

// Verifies reports whether an operation has writes that are read back.
func (o *Operation) Verifies() bool { return o.verified }

// effect returns the known effect of the finished operation's writes.
func (c *Cursor) effect() protocol.Effect {
	switch {
	case c.Failure.Class == protocol.OK && c.unsure:
		return protocol.AppliedAgain
	case c.Failure.Class == protocol.OK:
		return protocol.Applied
	case c.unsure:
		return protocol.Unsure
	}
	return protocol.NotApplied
}

// doubt records whether a failed attempt may have been applied.
func (c *Cursor) doubt(f *protocol.Failure) {
	request := c.op.Steps[c.step].Request
	if c.op.Rollback != nil && request.Verb != protocol.Commit {
		return // its transaction was not committed
	}
	c.unsure = c.unsure || f.Effect(c.request) == protocol.Unsure || c.op.Rollback == nil && c.step > 0
}

// wrote reports the result of the finished operation to the hook Wrote, unless it wrote nothing.
func (c *Cursor) wrote(address int, sentNs, endNs int64, effect protocol.Effect) {
	if c.work.Wrote == nil || !c.op.verified {
		return
	}
	for i := range c.op.Steps {
		if w := c.op.Steps[i].wrong; w != nil && w.of(c.Index) {
			return // the server should have refused it
		}
	}
	if effect == protocol.Applied && c.Missing && c.Missed != protocol.KindRead {
		return // it found nothing to change
	}
	if effect == protocol.NotApplied && c.Failure.Conflicts() {
		return // the existing value is from another write
	}
	c.work.Wrote(Written{Operation: c.Operation, Index: c.Index, Address: address, SentNs: sentNs, EndNs: endNs,
		Effect: effect})
}

// registers returns the requests of the plan's registers; nil without registers.
func registers(p *plan.Plan) []protocol.Request {
	if p.Registers == nil {
		return nil
	}
	write, read := p.Registers.Write, p.Registers.Read
	write.ID, write.Name, write.Params = 0, "write a register", []gen.Kind{gen.Int, gen.Int}
	read.ID, read.Name, read.Params = 1, "read a register", []gen.Kind{gen.Int}
	return []protocol.Request{write, read}
}
