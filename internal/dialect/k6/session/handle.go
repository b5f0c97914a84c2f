package session

import (
	"context"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// Handle is the state of a virtual user that modules and executors share. It is safe for concurrent use, because
// asynchronous calls may end at the same time as the iteration, and k6 reports the requests of its own modules later,
// in order.
type Handle struct {
	s     *Session
	shard *measure.Shared

	mu      sync.Mutex
	current *iteration   // of an open load; nil if there is none
	await   []*iteration // iterations whose end k6 hasn't reported, in order; the last one is current
}

// Scenario is an open load whose iterations are arrivals.
type Scenario struct {
	Name string
	last atomic.Int64 // operation under which the latest arrival was counted, plus 1
}

// Operation returns the operation under which arrivals that never began are counted.
func (sc *Scenario) Operation(s *Session) int {
	if n := sc.last.Load(); n > 0 {
		return int(n - 1)
	}
	return s.Operation(IterationName(sc.Name))
}

// Arrival is an iteration of an open load. Times are in ns on the run's clock.
type Arrival struct {
	Intended int64 // intended start
	Ready    int64 // when the VU became free for it
	Behind   int64 // see measure.Sample
	Began    int64 // when the iteration began
}

// iteration is an arrival that a virtual user has begun.
type iteration struct {
	Arrival
	of        *Scenario
	requested int64 // when one of k6's own modules sent the first request; 0 if none has
	taken     bool  // the arrival was counted as a call or a request
	reported  bool  // k6 has reported its end, and therefore all its requests
	over      bool
	end       int64
	class     protocol.Class
	cut       bool // it was cut off
}

// sample returns the arrival counted as the whole iteration.
func (it *iteration) sample() measure.Sample {
	return measure.Sample{
		Address: -1, Open: true, Intended: it.Intended, Ready: it.Ready, GeneratorDelay: it.Behind, Sent: it.Began,
		End: max(it.end, it.Began), Attempts: 1, Class: it.class,
	}
}

// take counts the arrival as a call that started at a given time. The call was sent then or, if a connection had to be
// made, later. The time that the script spent before its first call isn't lag.
func (it *iteration) take(m *measure.Sample, started int64) {
	it.taken = true
	it.of.last.Store(int64(m.Operation) + 1)
	own := max(it.Began-max(it.Intended, it.Ready), 0)
	delay := max(it.Began-max(it.Intended, it.Ready-it.Behind), 0)
	m.Open, m.Intended = true, it.Intended+started-it.Began
	m.Ready, m.GeneratorDelay = m.Sent-own, delay-own
}

// Handle returns the handle of a VU by its number.
func (s *Session) Handle(vu uint64) *Handle {
	if h, ok := s.vus.Load(vu); ok {
		return h.(*Handle)
	}
	h, _ := s.vus.LoadOrStore(vu, &Handle{s: s, shard: s.shard(vu)})
	return h.(*Handle)
}

// ReportsRequests says that k6 may report the script's requests, with the numbers of their VUs, instead of brunt's
// modules recording them. An iteration without calls is then not counted before k6 reports its end.
func (s *Session) ReportsRequests() { s.reports.Store(true) }

// Traced returns a context in which requests of net/http report to h when they are sent.
func (h *Handle) Traced(ctx context.Context) context.Context {
	if !h.s.reports.Load() {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) {
		h.mu.Lock()
		if it := h.current; it != nil && it.requested == 0 {
			it.requested = h.s.clock.Now()
		}
		h.mu.Unlock()
	}})
}

// Begin marks the beginning of an iteration of an open load. Its first call or request is counted as the arrival. It
// returns how far the VU is behind afterwards; see measure.Sample.
func (h *Handle) Begin(of *Scenario, a Arrival) (behind int64) {
	it := &iteration{Arrival: a, of: of}
	h.mu.Lock()
	h.current = it
	if h.s.reports.Load() {
		h.await = append(h.await, it)
	}
	h.mu.Unlock()
	m := it.sample()
	return m.Carry()
}

// End marks the end of the iteration with its class. cut says that it was cut off. If no call was counted as its
// arrival, the iteration itself is the operation.
func (h *Handle) End(end int64, class protocol.Class, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it := h.current
	h.current = nil
	if it == nil {
		return
	}
	it.over, it.end, it.class, it.cut = true, end, class, cut
	if !h.s.reports.Load() || it.reported {
		h.settle(it)
	}
}

// settle counts a finished iteration as an operation, unless a call was counted as its arrival. h.mu is held.
func (h *Handle) settle(it *iteration) {
	if it.taken {
		return
	}
	it.taken = true
	if it.cut {
		operation := it.of.Operation(h.s)
		h.shard.Do(func(r *measure.Recorder) { r.Unfinished(operation, 1) })
		return
	}
	m := it.sample()
	m.Operation = h.s.Operation(IterationName(it.of.Name))
	h.s.record(h.shard, &m)
}

// settleUntil settles the iterations of other scenarios, which k6 has finished reporting; all iterations if scenario is
// "". h.mu is held.
func (h *Handle) settleUntil(scenario string) {
	for len(h.await) > 0 && h.await[0].of.Name != scenario {
		if it := h.await[0]; it.over {
			h.settle(it)
		}
		h.await = slices.Delete(h.await, 0, 1)
	}
}

// reportedEnd handles k6's report of the end of the VU's next iteration in a scenario. All its requests came before.
func (h *Handle) reportedEnd(scenario string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settleUntil(scenario)
	if len(h.await) == 0 {
		return
	}
	it := h.await[0]
	h.await = slices.Delete(h.await, 0, 1)
	if it.reported = true; it.over {
		h.settle(it)
	}
}

// reportedRequest handles a request that k6 reports. If it is the first of its iteration, it counts as the arrival.
func (h *Handle) reportedRequest(scenario string, m *measure.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settleUntil(scenario)
	if len(h.await) == 0 || h.await[0].taken {
		return
	}
	it, started := h.await[0], m.Sent
	if it.requested != 0 {
		started = min(it.requested, started)
	}
	it.take(m, max(started, it.Began))
}

// settleAll settles the remaining iterations, after k6's last report.
func (s *Session) settleAll() {
	s.vus.Range(func(_, each any) bool {
		h := each.(*Handle)
		h.mu.Lock()
		h.settleUntil("")
		h.mu.Unlock()
		return true
	})
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
		Attempts: max(c.Attempts, 1), Class: c.Class, Facts: c.Facts,
	}
	h.mu.Lock()
	if it := h.current; it.waitsFor(&c) {
		it.take(&m, c.Sent)
	}
	h.mu.Unlock()
	s.requests.Store(true)
	s.record(h.shard, &m)
	if c.Class != protocol.OK {
		s.failed(&c)
	}
}

// waitsFor reports whether a call is counted as the arrival, that is, whether it is the first one. it may be nil.
func (it *iteration) waitsFor(c *Call) bool {
	return it != nil && !it.taken && (it.requested == 0 || c.Sent < it.requested)
}

// cut counts a call that was in flight when its iteration was cut off.
func (h *Handle) cut(c *Call) {
	h.mu.Lock()
	if it := h.current; it.waitsFor(c) {
		it.taken = true
		it.of.last.Store(int64(c.Operation) + 1)
	}
	h.mu.Unlock()
	h.s.requests.Store(true)
	h.s.loadBegan(c.Sent)
	h.shard.Do(func(r *measure.Recorder) { r.Unfinished(c.Operation, 1) })
	h.s.touch(c.End)
}

// IterationReported handles k6's report of the end of an iteration of brunt-open. vu is the number of its VU.
func (s *Session) IterationReported(vu uint64, scenario string) {
	if h, ok := s.vus.Load(vu); ok {
		h.(*Handle).reportedEnd(scenario)
	}
}

// Request records a request that one of k6's own modules reports. vu is 0 if its VU isn't known.
func (s *Session) Request(c *Call, vu uint64, scenario string) {
	s.requests.Store(true)
	m := measure.Sample{
		Operation: c.Operation, Address: c.Address, Intended: c.Sent, Sent: c.Sent, End: c.End, Attempts: 1, Class: c.Class,
		Facts: c.Facts,
	}
	if h, ok := s.vus.Load(vu); ok {
		h.(*Handle).reportedRequest(scenario, &m)
	}
	s.record(s.shards[0], &m)
	if c.Class != protocol.OK {
		s.failed(c)
	}
}
