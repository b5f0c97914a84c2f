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
	Open           bool  // the operation is an arrival of an open load
	Intended       int64 // intended start; closed loads: equal to Sent
	Ready          int64 // when its session became free, after think time; 0 means unknown
	GeneratorDelay int64 // how much earlier Ready would have been if the generator had never been late
	Sent           int64 // actual send of the first attempt
	End            int64 // the last byte of the last attempt's answer
	Attempts       int   // ≥ 1
	Class          protocol.Class
	Missing        bool          // a request found no row or key
	Missed         protocol.Kind // if Missing, the kind of that request: an update, a delete, or otherwise a read
	BadHash        bool
	Misdirected    bool // a request went to a node that doesn't have its key
	Unmapped       bool // nobody knew which node has the bucket of its key
	Status         int  // HTTP status
	BytesIn        int64
}

// Recorder stores the samples of one owner (an event loop, or a group of sessions). Only the owner may call Record,
// GiveUp, Unfinished, Offer, Stall, Reconnect, SetGauges, Asked, Poll and Close. They take no lock, and allocate only
// for the first sample of an operation at an address and for the first value of an octave: see Histogram. A Collector
// collects the samples through Poll, which swaps a double buffer.
//
// Padding keeps the owner's words off the cache lines of other owners and of the shared word.
type Recorder struct {
	_      [cacheLine]byte
	active *buffer // the owner's
	_      [cacheLine - 8]byte

	state  atomic.Uint32
	handed *buffer // used by the collector in states handed and closedHanded
	spare  *buffer // in states idle and asked: used by the owner at the next hand-over
	last   gauges  // used by the collector: as of the last hand-over
	told   told    // the collector's
	toldOf []told  // the collector's, by operation; nil if there is one operation only
	_      [cacheLine]byte
}

const cacheLine = 64

// The states of the shared word. Only the owner leaves asked, and only the owner closes.
const (
	idle         uint32 = iota // nothing to do; spare is set
	asked                      // the collector wants the active buffer
	handed                     // the owner has swapped; the collector may take handed
	closed                     // closed by the owner; the collector may take active
	closedHanded               // closed by the owner; the collector may take handed and active
)

// Record adds a finished operation.
func (r *Recorder) Record(s *Sample) { r.active.record(s) }

// OwnLag adds lag that the generator caused, for an arrival without a Sample. Record adds the own lag of samples.
func (r *Recorder) OwnLag(ns int64) { r.active.ownLag.Record(ns) }

// GiveUpAt counts an arrival of an operation with the intended start intendedNs that is given up at nowNs without being
// sent.
func (r *Recorder) GiveUpAt(operation int, why Unsent, intendedNs, nowNs int64) {
	r.GiveUp(operation, why, 1)
	r.active.noteLost(operation, NoAddress, intendedNs, nowNs)
}

// UnfinishedAt counts an operation at an address with the intended start intendedNs that is in flight when the load is
// cut off at nowNs. Such an operation has no Sample.
func (r *Recorder) UnfinishedAt(operation, address int, intendedNs, nowNs int64) {
	r.Unfinished(operation, 1)
	r.active.noteLost(operation, address, intendedNs, nowNs)
}

// GiveUp counts n arrivals of an operation that were given up without being sent.
func (r *Recorder) GiveUp(operation int, why Unsent, n uint64) {
	r.active.fates[operation].Unsent[why] += n
}

// Unfinished counts n operations that were sent and are in flight when the load is cut off. They have no Sample.
func (r *Recorder) Unfinished(operation int, n uint64) { r.active.fates[operation].Unfinished += n }

// Offer counts n arrivals that fell due.
func (r *Recorder) Offer(n uint64) { r.active.offered += n }

// Stall counts a write that found the socket's buffer full.
func (r *Recorder) Stall() { r.active.stalls++ }

// Reconnect counts a session of an address that was connected again.
func (r *Recorder) Reconnect(address int) { r.active.reconnects[address]++ }

// SetGauges sets the current state: connected sessions by address, sessions that wait for an answer, arrivals that are
// due and not sent, and the share of time for which the loop was not asleep since the last call (0 for owners that
// aren't loops). If it is called several times in an interval, the last numbers count, and the mean of the shares. So
// call it at regular times, or when Asked returns true.
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

// Poll hands over what was recorded if the Collector has asked for it. The owner must call it at least every 100 ms.
// Otherwise it costs one atomic load.
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

// Close hands over everything. The owner must not use r afterwards. A second call does nothing.
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

// collect passes the buffers that the owner has handed over to take. It reports whether the owner has answered the
// request, and whether the recorder is closed.
func (r *Recorder) collect(take func(*buffer)) (answered, gone bool) {
	switch r.state.Load() {
	case handed:
		r.taken(r.handed, take)
		r.spare = r.handed
		// A failed exchange means that the owner has closed the recorder in between. The next call then finds the
		// active buffer, and an empty handed buffer.
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

// Shared is a Recorder with a mutex, for many goroutines with few samples each. It needs no Poll.
type Shared struct {
	mu    sync.Mutex
	r     *Recorder
	state func(*Recorder) // see Tell; may be nil
}

// Tell sets a function that is called just before each hand-over, with exclusive use of the Recorder, so that gauges
// and offered arrivals are of the same moment as the samples. Tell must be called before the first Cut.
func (s *Shared) Tell(f func(r *Recorder)) { s.state = f }

// Record adds a finished operation.
func (s *Shared) Record(sample *Sample) {
	s.mu.Lock()
	s.r.Record(sample)
	s.mu.Unlock()
}

// Do calls f with exclusive use of the Recorder. f must not keep it.
func (s *Shared) Do(f func(r *Recorder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.r)
}

// Close hands over everything. Nothing may be recorded afterwards.
func (s *Shared) Close() { s.Do((*Recorder).Close) }

func (s *Shared) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil && s.r.Asked() {
		s.state(s.r)
	}
	s.r.Poll()
}
