package session

import (
	"context"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"

	"brunt/internal/base/secret"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// VU is a virtual user as its modules use it. Only the VU's goroutine may use it.
type VU struct {
	s  *Session
	vu modules.VU
	h  *Handle
}

// VU returns the handle for a virtual user. Modules call it when their instance for the VU is made.
func (s *Session) VU(vu modules.VU) *VU {
	s.register(vu)
	return &VU{s: s, vu: vu}
}

// Now returns the time on the run's clock in ns.
func (v *VU) Now() int64 { return v.s.clock.Now() }

// Context returns a context that is done when the VU must stop.
func (v *VU) Context() context.Context { return v.vu.Context() }

// Call is a finished call to a server. Times are in ns on the run's clock.
type Call struct {
	protocol.Facts
	Operation  int
	Address    int   // -1 for none
	Sent, End  int64 // End 0 means now
	Class      protocol.Class
	Code, Text string // of a failure
	Attempts   int    // 0 means 1
	Cut        bool   // the iteration ended while the call was in flight
}

// Done records a call. It does nothing in the init context, setup and teardown.
func (v *VU) Done(c Call) {
	if v.h == nil {
		state := v.vu.State()
		if state == nil || state.VUID == 0 {
			return
		}
		v.h = v.s.Handle(state.VUID)
		v.s.Samples(state.Samples)
		v.s.State(lib.GetExecutionState(v.vu.Context()))
	}
	v.h.Done(c)
}

// record records a finished operation.
func (s *Session) record(shard *measure.Shared, m *measure.Sample) {
	s.loadBegan(m.Intended)
	shard.Record(m)
	s.touch(m.End)
}

// failed stores a failed call as an example of its error class.
func (s *Session) failed(c *Call) {
	s.Failed(record.ErrorSample{
		Time: time.Now().UTC(), Class: c.Class.String(), Code: c.Code, Text: secret.Text(c.Text),
		Operation: s.nameOf(c.Operation), Address: s.addressOf(c.Address), Attempt: max(c.Attempts, 1),
	})
}
