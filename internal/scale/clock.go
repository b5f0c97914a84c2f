package scale

import "time"

// Clock reads nanoseconds since the epoch without ever stepping: the wall clock as it was at its beginning, and what
// has passed since.
type Clock struct{ began time.Time }

// NewClock returns a clock that begins now.
func NewClock() Clock { return Clock{time.Now()} }

// Now is the clock's time, ns since the epoch.
func (c Clock) Now() int64 { return c.began.UnixNano() + int64(time.Since(c.began)) }

// At is the moment at which the clock reads ns, with a monotonic reading.
func (c Clock) At(ns int64) time.Time { return c.began.Add(time.Duration(ns - c.began.UnixNano())) }

// sample is one exchange of timestamps with the coordinator, as NTP's (RFC 5905, section 8): sent and answered by the
// worker's clock, received and replied by the coordinator's, ns.
type sample struct {
	SentNs, ReceivedNs, RepliedNs, AnsweredNs int64
}

// offsetNs is how far the coordinator's clock is ahead of the worker's.
func (s sample) offsetNs() int64 {
	return ((s.ReceivedNs - s.SentNs) + (s.RepliedNs - s.AnsweredNs)) / 2
}

// delayNs is how long the exchange was under way, in both directions together.
func (s sample) delayNs() int64 {
	return (s.AnsweredNs - s.SentNs) - (s.RepliedNs - s.ReceivedNs)
}

// Offset is how far a coordinator's clock is ahead of a worker's.
type Offset struct {
	Ns            int64
	UncertaintyNs int64 // the true offset is at most so far from Ns, whatever share of the delay each direction has
}

// bestOffset is that of the sample with the least delay, whose uncertainty is half of the delay. The zero value if
// there are no samples.
func bestOffset(samples []sample) (best Offset) {
	for i, s := range samples {
		if half := (max(s.delayNs(), 0) + 1) / 2; i == 0 || half < best.UncertaintyNs {
			best = Offset{s.offsetNs(), half}
		}
	}
	return best
}
