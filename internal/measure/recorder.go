package measure

import (
	"brunt/internal/driver"
)

// Sample is one finished operation. Times are nanoseconds on the run's monotonic clock.
type Sample struct {
	Operation int
	Address   int
	Intended  int64 // intended start; closed loads: equal to Sent
	Sent      int64 // actual send of the first attempt
	End       int64 // the last byte of the last attempt's answer
	Attempts  int   // ≥ 1
	Class     driver.Class
	Missing   bool
	BadHash   bool
	Status    int // HTTP status
	BytesIn   int64
}

// Recorder keeps the samples of one owner (an event loop, or a shard of sessions). Record, Drop,
// Offer, Stall and Poll are called by the owner only, and take no lock and allocate nothing. A
// Collector takes what was recorded, through Poll: a double buffer, swapped by the owner.
type Recorder struct{}

// Record adds a finished operation.
func (r *Recorder) Record(s *Sample) { panic("unwritten") }

// Drop counts n arrivals of an operation that were given up without being sent.
func (r *Recorder) Drop(operation int, n uint64) { panic("unwritten") }

// Offer counts n arrivals that fell due.
func (r *Recorder) Offer(n uint64) { panic("unwritten") }

// Stall counts a write that found the socket's buffer full.
func (r *Recorder) Stall() { panic("unwritten") }

// Reconnect counts a session of an address that came back.
func (r *Recorder) Reconnect(address int) { panic("unwritten") }

// SetGauges tells the present state: connected sessions by address, sessions waiting for an
// answer, arrivals due and not sent, and the share of time that the loop was not asleep since
// the last call (0 for owners that aren't loops).
func (r *Recorder) SetGauges(up []int, busy int, backlog uint64, loopBusy float64) {
	panic("unwritten")
}

// Poll must be called by the owner at least every 100 ms: it hands over what was recorded if the
// Collector asked for it. It costs one atomic load otherwise.
func (r *Recorder) Poll() { panic("unwritten") }

// Shared is a Recorder behind a mutex, for many goroutines with few samples each. It needs no
// Poll.
type Shared struct{}

// Record adds a finished operation.
func (s *Shared) Record(sample *Sample) { panic("unwritten") }

// Do calls f with the Recorder while nobody else uses it.
func (s *Shared) Do(f func(r *Recorder)) { panic("unwritten") }

// Collector cuts the run into intervals over all recorders and keeps totals.
type Collector struct{}

// NewCollector returns a collector for so many operations and addresses.
func NewCollector(operations, addresses int) *Collector { panic("unwritten") }

// NewRecorder returns a recorder whose owner polls.
func (c *Collector) NewRecorder() *Recorder { panic("unwritten") }

// NewShared returns a recorder behind a mutex.
func (c *Collector) NewShared() *Shared { panic("unwritten") }

// Cut ends the interval under way at endNs, merges what all recorders have, adds it to the
// totals unless warmUp, and returns it. Samples recorded later belong to the next interval; none
// is lost or counted twice. The Interval is valid until the next Cut. Phase, UnixNs and Health
// are for the caller to fill in beforehand through meta.
func (c *Collector) Cut(endNs int64, meta Meta) *Interval { panic("unwritten") }

// Meta is what only the caller of Cut knows of an interval.
type Meta struct {
	Phase  string
	WarmUp bool
	UnixNs int64 // of its start
	Health Health
}

// Total returns the totals so far, warm-up excluded: an Interval from 0 to the last Cut.
func (c *Collector) Total() *Interval { panic("unwritten") }
