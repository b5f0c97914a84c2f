// Package schedule gives arrival processes and load shapes: arrival number → intended start. It
// is pure: it never reads a clock.
package schedule

// Segment is a stretch of a shape over which the rate changes linearly.
type Segment struct {
	DurationNs       int64
	RateFrom, RateTo float64 // arrivals per second at its start and end; ≥ 0
}

// Process is how arrivals spread around the rate.
type Process uint8

const (
	// Uniform arrivals are as even as the rate allows.
	Uniform Process = iota
	// Poisson arrivals are independent: gaps are exponential.
	Poisson
)

// Stage is a piece of the load that a fleet runs in one go: all adjoining open phases, one
// closed phase, or nothing for a while.
type Stage struct {
	First   uint64 // number of its first operation
	StartNs int64  // on the run's clock; arrivals are relative to it
	Stride  uint64 // this machine takes operations First + Offset + k·Stride; 0 means 1
	Offset  uint64

	Shape   *Shape  // open: not nil
	Process Process // open
	Seed    uint64  // open: of the Poisson process

	Sessions   int    // closed: sessions at work; 0 means all
	Operations uint64 // closed: how many in all; 0 means no limit
	DurationNs int64  // closed: when to stop starting operations; 0 means when Operations are done
}

// Open reports whether arrivals follow a schedule.
func (s *Stage) Open() bool { return s.Shape != nil }

// Stripe goes through the arrivals of an open stage that are one worker's own: the one numbered offset,
// and from there on every stride-th.
type Stripe struct {
	Number     uint64 // of the present arrival, counted from the schedule's first
	IntendedNs int64  // its intended start on the run's clock
	Own        uint64 // the worker's arrivals before it
	Drawn      uint64 // arrivals of the schedule, whosever, up to and with it
	Over       bool   // there is no present arrival

	arrivals     *Arrivals
	startNs      int64
	want, stride uint64
	end          uint64 // arrivals from this number on don't exist
}

// Stripe returns a worker's part of the stage's arrivals below number end.
func (s *Stage) Stripe(offset, stride, end uint64) Stripe {
	t := Stripe{arrivals: s.Shape.Arrivals(s.Process, s.Seed), startNs: s.StartNs, want: offset, stride: stride, end: end}
	t.Advance()
	t.Own = 0
	return t
}

// Advance goes on to the worker's next arrival.
func (t *Stripe) Advance() {
	t.Own++
	for {
		at, ok := t.arrivals.Next()
		if !ok || t.Drawn >= t.end {
			t.Over = true
			return
		}
		if t.Drawn++; t.Drawn-1 == t.want {
			t.Number, t.IntendedNs = t.want, t.startNs+at
			t.want += t.stride
			return
		}
	}
}
