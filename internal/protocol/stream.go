package protocol

import (
	"cmp"
	"math/bits"
	"slices"
)

// Stream is when the messages of an answer arrived that is a stream. It exists from the first message on.
type Stream struct {
	FirstNs int64 // from when the request was encoded to the first message
	Between Times // from each message to the next
}

// Pacing is how the messages of a request were sent that are due at times of their own.
type Pacing struct {
	Lag    Times  // from when a message was due to when it was sent
	Unsent uint64 // messages that were due, but the stream ended before the server had room for them
}

// StreamMessage adds a message that arrived ns after the request was encoded, or after the message before it.
func (r *Reply) StreamMessage(ns int64) {
	ns = max(ns, 0) // clocks can be set back
	if r.Stream == nil {
		r.Stream = &Stream{FirstNs: ns}
		return
	}
	r.Stream.Between.Add(ns)
}

// EndStream tells when the answer ended, ns after its request was sent. The first message came before that, although
// its time is read after the kernel's time of the end, and counts from before the request was sent.
func (r *Reply) EndStream(ns int64) {
	if r.Stream != nil {
		r.Stream.FirstNs = min(r.Stream.FirstNs, max(ns, 0))
	}
}

// Times are any number of times, in memory that depends only on how much they differ. The zero Times is empty.
type Times struct {
	N            uint64
	SumNs        uint64
	MinNs, MaxNs int64
	// Steps are the times rounded down to TimeBits significant bits, in ascending order.
	Steps []TimeStep
}

// TimeStep is how many times have been rounded to one.
type TimeStep struct {
	Ns int64
	N  uint64
}

// TimeBits is the number of significant bits to which times are rounded: that of the histograms of package measure.
const TimeBits = 11

// Add adds a time, which must not be negative.
func (t *Times) Add(ns int64) {
	if t.N == 0 || ns < t.MinNs {
		t.MinNs = ns
	}
	t.N, t.SumNs, t.MaxNs = t.N+1, t.SumNs+uint64(ns), max(t.MaxNs, ns)
	low := max(bits.Len64(uint64(ns))-TimeBits, 0)
	rounded := ns >> low << low
	at, found := slices.BinarySearchFunc(t.Steps, rounded, func(s TimeStep, ns int64) int { return cmp.Compare(s.Ns, ns) })
	if !found {
		t.Steps = slices.Insert(t.Steps, at, TimeStep{Ns: rounded})
	}
	t.Steps[at].N++
}
