package scale

import "time"

// Clock returns nanoseconds since the epoch and is never adjusted: it is the wall clock at its creation plus the
// monotonic time since then.
type Clock struct{ began time.Time }

// NewClock returns a clock.
func NewClock() Clock { return Clock{time.Now()} }

// Now returns the clock's time in ns since the epoch.
func (c Clock) Now() int64 { return c.began.UnixNano() + int64(time.Since(c.began)) }

// At returns the time, with a monotonic reading, at which the clock reads ns.
func (c Clock) At(ns int64) time.Time { return c.began.Add(time.Duration(ns - c.began.UnixNano())) }

// sample is one exchange of timestamps with the coordinator, as in NTP (RFC 5905, section 8). The worker's clock
// provides the times of the request and of the answer's arrival. The coordinator's clock provides the times of the
// request's arrival and of the answer. All are in ns.
type sample struct {
	SentNs, ReceivedNs, RepliedNs, AnsweredNs int64
}

// offsetNs returns how far the coordinator's clock is ahead of the worker's, in ns.
func (s sample) offsetNs() int64 {
	return ((s.ReceivedNs - s.SentNs) + (s.RepliedNs - s.AnsweredNs)) / 2
}

// delayNs returns the network delay of the exchange, both directions together, in ns.
func (s sample) delayNs() int64 {
	return (s.AnsweredNs - s.SentNs) - (s.RepliedNs - s.ReceivedNs)
}

// Offset is how far the coordinator's clock is ahead of a worker's.
type Offset struct {
	Ns            int64
	UncertaintyNs int64 // the largest possible error of Ns, for any division of the delay between the directions
}

// bestOffset returns the offset from the sample with the least delay. Its uncertainty is half of this delay. It returns
// the zero value if there are no samples.
func bestOffset(samples []sample) (best Offset) {
	for i, s := range samples {
		if half := (max(s.delayNs(), 0) + 1) / 2; i == 0 || half < best.UncertaintyNs {
			best = Offset{s.offsetNs(), half}
		}
	}
	return best
}

// fineNs is an uncertainty in ns that is small enough for any load.
const fineNs = int64(time.Millisecond / 2)

// enough reports whether more samples would hardly make the offset more certain: it is certain enough, or half of the
// delays are within a quarter of the least. Then the network takes that time. Delays that differ more come from busy
// machines, where one exchange among many is not delayed.
func enough(samples []sample) bool {
	best := bestOffset(samples).UncertaintyNs
	near := 0
	for _, s := range samples {
		if s.delayNs() <= 2*best+best/2 {
			near++
		}
	}
	return best <= fineNs || 2*near >= len(samples)
}
