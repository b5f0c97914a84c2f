package session

import (
	"context"
	"sync"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/secret"
)

// VU is a virtual user, as its modules see it. It is used by the VU's goroutine only.
type VU struct {
	s  *Session
	vu modules.VU
	h  *Handle
}

// VU returns the handle of a virtual user. Modules call it when they are made for the VU.
func (s *Session) VU(vu modules.VU) *VU {
	s.register(vu)
	return &VU{s: s, vu: vu}
}

// Now is nanoseconds on the run's clock.
func (v *VU) Now() int64 { return v.s.clock.Now() }

// Context is done when the VU must stop.
func (v *VU) Context() context.Context { return v.vu.Context() }

// Call is a finished call to a server. Times are on the run's clock.
type Call struct {
	Operation  int
	Address    int   // -1 for none
	Sent, End  int64 // End 0 means now
	Class      protocol.Class
	Code, Text string // of a failure
	Attempts   int    // 0 means 1
	Missing    bool
	Kind       protocol.Kind // what found nothing, if Missing
	BytesIn    int64
	Status     int  // of HTTP
	Cut        bool // the end of the iteration, not of the call, came: it was in flight
}

// Done records a call. In the init context, setup and teardown it does nothing.
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

// Handle is a virtual user as modules and executors share it.
type Handle struct {
	s     *Session
	shard *measure.Shared

	mu      sync.Mutex // an asynchronous call may end next to the iteration
	arrival Arrival
	open    bool // arrival is waiting for its first call
	first   int  // operation of the arrival's call
}

// Arrival is an iteration of an open load. Times are on the run's clock.
type Arrival struct {
	Intended int64 // start
	Ready    int64 // when the VU became free to take it
	Behind   int64 // see measure.Sample
	Began    int64 // when the iteration began
}

// Handle is that of the VU of a number.
func (s *Session) Handle(vu uint64) *Handle {
	if h, ok := s.vus.Load(vu); ok {
		return h.(*Handle)
	}
	h, _ := s.vus.LoadOrStore(vu, &Handle{s: s, shard: s.shard(vu)})
	return h.(*Handle)
}

// Begin says that an iteration of an open load begins: its first call takes the arrival.
func (h *Handle) Begin(a Arrival) {
	h.mu.Lock()
	h.arrival, h.open = a, true
	h.mu.Unlock()
}

// End says that the iteration is over. It returns the operation that the arrival was counted as, how far
// the VU is behind, or ok false if no call has taken it.
func (h *Handle) End() (operation int, behind int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open {
		h.open = false
		return 0, h.arrival.Behind, false
	}
	return h.first, h.arrival.Behind, true
}

// Done records a call; see VU.Done.
func (h *Handle) Done(c Call) {
	s := h.s
	if c.End == 0 {
		c.End = s.clock.Now()
	}
	if c.Cut {
		h.cut(&c)
		return
	}
	m := measure.Sample{
		Operation: c.Operation, Address: c.Address, Intended: c.Sent, Sent: c.Sent, End: max(c.End, c.Sent),
		Attempts: max(c.Attempts, 1), Class: c.Class, Missing: c.Missing, Missed: c.Kind,
		Status: c.Status, BytesIn: c.BytesIn,
	}
	h.mu.Lock()
	if h.open {
		// What the script does before its first call is its own time, not lag.
		a, before := &h.arrival, c.Sent-h.arrival.Began
		m.Open, m.Intended, m.Ready, m.GeneratorDelay = true, a.Intended+before, a.Ready+before, a.Behind
		a.Behind = m.Carry()
		h.open, h.first = false, c.Operation
	}
	h.mu.Unlock()
	s.requests.Store(true)
	s.record(h.shard, &m)
	if c.Class != protocol.OK {
		s.failed(&c)
	}
}

// cut counts a call that was in flight when its iteration was cut off.
func (h *Handle) cut(c *Call) {
	h.mu.Lock()
	if h.open {
		h.open, h.first = false, c.Operation
	}
	h.mu.Unlock()
	h.s.requests.Store(true)
	h.s.loadBegan(c.Sent)
	h.shard.Do(func(r *measure.Recorder) { r.Unfinished(c.Operation, 1) })
	h.s.touch(c.End)
}

// record adds a finished operation.
func (s *Session) record(shard *measure.Shared, m *measure.Sample) {
	s.loadBegan(m.Intended)
	shard.Record(m)
	s.touch(m.End)
}

// touch notes that the load was under way at ns.
func (s *Session) touch(ns int64) {
	for {
		last := s.lastNs.Load()
		if ns <= last || s.lastNs.CompareAndSwap(last, ns) {
			return
		}
	}
}

// failed keeps a failed call as a sample of its class.
func (s *Session) failed(c *Call) {
	s.mu.Lock()
	bundle := s.bundle
	s.mu.Unlock()
	if bundle == nil {
		return
	}
	bundle.Failed(&record.ErrorSample{
		Time: time.Now().UTC(), Class: c.Class.String(), Code: c.Code, Text: secret.Text(c.Text),
		Operation: s.nameOf(c.Operation), Address: s.addressOf(c.Address), Attempt: max(c.Attempts, 1),
	})
}
