package measure

import (
	"sync"
	"sync/atomic"

	"brunt/internal/protocol"
)

// LateNs is the lag from which an operation counts as late.
const LateNs = 1_000_000

// Sample is one finished operation. Times are nanoseconds on the run's monotonic clock.
type Sample struct {
	Operation      int
	Address        int
	Open           bool  // it is an arrival, with a schedule
	Intended       int64 // intended start; closed loads: equal to Sent
	Ready          int64 // when its session became free to take it, after its think time; 0 means not known
	GeneratorDelay int64 // how much earlier Ready would have been, had the generator sent what came before in time
	Sent           int64 // actual send of the first attempt
	End            int64 // the last byte of the last attempt's answer
	Attempts       int   // ≥ 1
	Class          protocol.Class
	Missing        bool          // a request found nothing
	Missed         protocol.Kind // what that request was, if Missing: an update, a delete, or else a read
	BadHash        bool
	Status         int // HTTP status
	BytesIn        int64
}

// Recorder keeps the samples of one owner (an event loop, or a shard of sessions). Record, GiveUp,
// Unfinished, Offer, Stall, Reconnect, SetGauges, Asked, Poll and Close are called by the owner only, and
// take no lock and allocate nothing (but for the first sample of an operation at an address, and
// an octave's first value, see Histogram). A Collector takes what was recorded, through Poll: a
// double buffer, swapped by the owner.
//
// Pads keep the owner's words off the cache lines of others and of the shared word.
type Recorder struct {
	_      [cacheLine]byte
	active *buffer // the owner's
	_      [cacheLine - 8]byte

	state  atomic.Uint32
	handed *buffer // in state handed, or closed with one: the collector's
	spare  *buffer // in state idle and asked: the owner's to take at the next hand-over
	last   gauges  // the collector's: as of the last hand-over
	told   told    // the collector's
	toldOf []told  // the collector's, by operation; nil if there is one operation only
	_      [cacheLine]byte
}

const cacheLine = 64

// The states of the shared word. Only the owner leaves asked, and only the owner closes.
const (
	idle         uint32 = iota // nothing to do; spare is there
	asked                      // the collector wants the active buffer
	handed                     // the owner has swapped; the collector may take handed
	closed                     // the owner is gone; active is the collector's
	closedHanded               // the owner is gone; handed and active are the collector's
)

// Record adds a finished operation.
func (r *Recorder) Record(s *Sample) { r.active.record(s) }

// OwnLag adds a lag that was the generator's own doing, for an arrival that leaves no Sample. Those
// of samples are added by Record.
func (r *Recorder) OwnLag(ns int64) { r.active.ownLag.Record(ns) }

// GiveUpAt counts an arrival of an operation that was meant to start at intendedNs and is given up now, at nowNs,
// without being sent.
func (r *Recorder) GiveUpAt(operation int, why Unsent, intendedNs, nowNs int64) {
	r.GiveUp(operation, why, 1)
	r.active.noteLost(operation, NoAddress, intendedNs, nowNs)
}

// UnfinishedAt counts an operation at an address that was meant to start at intendedNs, and that is in flight when the
// load is cut off now, at nowNs. It leaves no Sample.
func (r *Recorder) UnfinishedAt(operation, address int, intendedNs, nowNs int64) {
	r.Unfinished(operation, 1)
	r.active.noteLost(operation, address, intendedNs, nowNs)
}

// GiveUp counts n arrivals of an operation that were given up without being sent.
func (r *Recorder) GiveUp(operation int, why Unsent, n uint64) {
	r.active.fates[operation].Unsent[why] += n
}

// Unfinished counts n operations that were sent, and in flight when the load was cut off. They leave
// no Sample.
func (r *Recorder) Unfinished(operation int, n uint64) { r.active.fates[operation].Unfinished += n }

// Offer counts n arrivals that fell due.
func (r *Recorder) Offer(n uint64) { r.active.offered += n }

// Stall counts a write that found the socket's buffer full.
func (r *Recorder) Stall() { r.active.stalls++ }

// Reconnect counts a session of an address that came back.
func (r *Recorder) Reconnect(address int) { r.active.reconnects[address]++ }

// SetGauges tells the present state: connected sessions by address, sessions waiting for an
// answer, arrivals due and not sent, and the share of time that the loop was not asleep since
// the last call (0 for owners that aren't loops). Of several calls in an interval the last one's
// numbers count, and the mean of the shares: call it at even periods, or when Asked says so.
func (r *Recorder) SetGauges(up []int, busy int, backlog uint64, loopBusy float64) {
	g := &r.active.gauges
	copy(g.up, up)
	g.busy, g.backlog = busy, backlog
	g.loopBusy += loopBusy
	g.calls++
}

// Asked reports whether the next Poll will hand over, so that the owner can set gauges first. It
// costs one atomic load.
func (r *Recorder) Asked() bool { return r.state.Load() == asked }

// Poll must be called by the owner at least every 100 ms: it hands over what was recorded if the
// Collector asked for it. It costs one atomic load otherwise.
func (r *Recorder) Poll() {
	if r.state.Load() == asked {
		r.handOver()
	}
}

func (r *Recorder) handOver() {
	full := r.active
	full.flush()
	r.active, r.spare = r.spare, nil
	r.active.gauges.follow(&full.gauges)
	r.active.gaps.lastOK = full.gaps.lastOK
	for i := range full.gapsOf {
		r.active.gapsOf[i].lastOK = full.gapsOf[i].lastOK
	}
	r.handed = full
	r.state.Store(handed)
}

// Close hands everything over for good. The owner must not use r afterwards. A second call does
// nothing.
func (r *Recorder) Close() {
	if s := r.state.Load(); s == closed || s == closedHanded {
		return
	}
	r.active.flush()
	for {
		switch state := r.state.Load(); state {
		case idle, asked:
			if r.state.CompareAndSwap(state, closed) {
				return
			}
		case handed:
			if r.state.CompareAndSwap(state, closedHanded) {
				return
			}
		default:
			return
		}
	}
}

// request makes the owner hand over at its next Poll, if it hasn't already done so.
func (r *Recorder) request() { r.state.CompareAndSwap(idle, asked) }

// collect gives what the owner has handed over to take and reports whether the owner has
// answered the request, and whether it is gone for good.
func (r *Recorder) collect(take func(*buffer)) (answered, gone bool) {
	switch r.state.Load() {
	case handed:
		r.taken(r.handed, take)
		r.spare = r.handed
		// A failed exchange means that the owner has closed in the meantime: the next call finds the
		// active buffer, and handed emptied.
		return r.state.CompareAndSwap(handed, idle), false
	case closedHanded:
		r.taken(r.handed, take)
		r.taken(r.active, take)
		return true, true
	case closed:
		r.taken(r.active, take)
		return true, true
	}
	return false, false
}

func (r *Recorder) taken(b *buffer, take func(*buffer)) {
	take(b)
	r.last.follow(&b.gauges)
	r.told.take(&b.gaps)
	for i := range b.gapsOf {
		r.toldOf[i].take(&b.gapsOf[i])
	}
	b.reset()
}

// Shared is a Recorder behind a mutex, for many goroutines with few samples each. It needs no
// Poll.
type Shared struct {
	mu    sync.Mutex
	r     *Recorder
	state func(*Recorder) // see Tell; may be nil
}

// Tell has f called each time just before what was recorded is handed over, while nobody else uses the
// Recorder, so that gauges and what fell due are of the same moment as what was recorded. It must be
// set before the first Cut.
func (s *Shared) Tell(f func(r *Recorder)) { s.state = f }

// Record adds a finished operation.
func (s *Shared) Record(sample *Sample) {
	s.mu.Lock()
	s.r.Record(sample)
	s.mu.Unlock()
}

// Do calls f with the Recorder while nobody else uses it. f must not keep it.
func (s *Shared) Do(f func(r *Recorder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.r)
}

// Close hands everything over for good. Nothing must be recorded afterwards.
func (s *Shared) Close() { s.Do((*Recorder).Close) }

func (s *Shared) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil && s.r.Asked() {
		s.state(s.r)
	}
	s.r.Poll()
}
