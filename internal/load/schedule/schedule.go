// Package schedule computes arrival processes and load shapes: the intended start of each arrival by its number. It is
// pure and never reads a clock.
package schedule

import (
	"slices"

	"brunt/internal/load/gen"
)

// Segment is a section of a shape in which the rate changes linearly.
type Segment struct {
	DurationNs       int64
	RateFrom, RateTo float64 // arrivals per second at its start and end; ≥ 0
}

// Exact says how the arrivals of a segment differ from those that its rates alone give. The zero value says that they
// don't.
type Exact struct {
	// Whole says that the arrivals are counted from 0: the first is at the segment's start, and if their expected number
	// isn't whole, the rest is dropped.
	Whole bool
	// TimesNs are, if not nil, the arrivals themselves, in ns after the segment's start: ascending, from 0 to below its
	// duration. The rates then have no meaning.
	TimesNs []int64
}

// Process is how arrivals are distributed around the rate.
type Process uint8

const (
	// Uniform arrivals are as evenly spaced as the rate allows.
	Uniform Process = iota
	// Poisson arrivals are independent of each other: their gaps are exponentially distributed.
	Poisson
)

// Stage is a part of the load that a fleet runs without interruption: all adjacent open phases, one closed phase, or a
// pause.
type Stage struct {
	First   uint64 // number of its first operation
	StartNs int64  // on the run's clock; arrivals are relative to it
	// OffsetNs is when the stage begins within the load if every phase before it lasts as long as planned. It is the
	// same on every machine; see Redistribution.
	OffsetNs int64
	Part     Part // this machine's operations

	Shape   *Shape  // open: not nil
	Process Process // open
	Seed    uint64  // open: of the Poisson process
	// PhaseEnds are, if the stage has several phases, when one of them ends and the next begins.
	PhaseEnds PhaseEnds

	Sessions int // closed: active sessions; 0 means all
	// SessionsOfAll is, with Part.Shared, how many sessions all machines have together; see ActiveSessions.
	SessionsOfAll int
	// Numbers are, with Part.Shared, the operations of a closed stage. They take the place of Part.At.
	Numbers    *Numbers
	Operations uint64 // closed: number of operations; 0 means no limit
	DurationNs int64  // closed: when to stop starting operations; 0 means when Operations are done
}

// PhaseEnds are times on the run's clock, ascending. An arrival that falls due at such a time belongs to the phase that
// begins then.
type PhaseEnds []int64

// Pass removes and returns the first time if it is not after now.
func (e *PhaseEnds) Pass(now int64) (at int64, ok bool) {
	if len(*e) == 0 || (*e)[0] > now {
		return 0, false
	}
	at, *e = (*e)[0], (*e)[1:]
	return at, true
}

// Open reports whether arrivals follow a schedule.
func (s *Stage) Open() bool { return s.Shape != nil }

// ActiveSessions returns how many sessions take part in the stage now; 0 means all. With Part.Shared it becomes more
// when a machine is lost.
func (s *Stage) ActiveSessions() int {
	if s.Part.Shared == nil || s.SessionsOfAll == 0 {
		return s.Sessions
	}
	return s.Part.Shared.Sessions(s.Part.Takes[0], s.Part.Of, s.SessionsOfAll)
}

// Part says which operations of a stage belong to somebody: to a machine, or to one of the workers on a machine. They
// are counted from the stage's first: of each Of consecutive operations, those with the numbers Takes, which are below
// Of and ascending. The zero value has all.
type Part struct {
	Of    uint64
	Takes []uint64
	// Shared, if not nil, passes operations on to other machines when one is lost. Takes must then have one number.
	Shared *Redistribution

	machines uint64 // with Shared: Of of the machine's part if this is a worker's; else 0
}

// Worker returns the part that worker i of n has of a machine's part: every n-th of its operations, from number i on.
func (p Part) Worker(i, n uint64) Part {
	of, takes := max(p.Of, 1)*n, uint64(max(len(p.Takes), 1))
	w := Part{Of: of, Takes: make([]uint64, takes), Shared: p.Shared, machines: p.Of}
	for k := range takes {
		w.Takes[k] = p.At(i + k*n)
	}
	return w
}

// owns reports whether an operation is the part's if it belongs to a machine. turn is its number among the operations
// that this machine gets in the same way.
func (p Part) owns(machine, turn uint64) bool {
	worker, workers := p.Takes[0]/p.machines, p.Of/p.machines
	return machine == p.machine() && turn%workers == worker
}

// machine returns the machine to which a worker's part belongs.
func (p Part) machine() uint64 { return p.Takes[0] % p.machines }

// At returns the number of the part's k-th operation, from 0.
func (p *Part) At(k uint64) uint64 {
	n := uint64(len(p.Takes))
	if n == 0 {
		return k
	}
	return k/n*p.Of + p.Takes[k%n]
}

// Has reports whether operation n belongs to the part. n is counted from the first operation of the stage or of an
// earlier one.
func (p Part) Has(n uint64) bool {
	if p.Shared != nil {
		return p.Shared.Has(p, n)
	}
	return p.hasTurn(n)
}

// hasTurn is Has without Shared.
func (p Part) hasTurn(n uint64) bool {
	return p.Of <= 1 || len(p.Takes) == 0 || slices.Contains(p.Takes, n%p.Of)
}

// Round returns the first number from n on at which all parts start over.
func (p Part) Round(n uint64) uint64 {
	of := max(p.Of, 1)
	return (n + of - 1) / of * of
}

// After returns the first number that no part has taken, if each has taken k operations.
func (p Part) After(k uint64) uint64 {
	if k == 0 {
		return 0
	}
	return p.Round(p.At(k-1) + 1)
}

// PartArrivals iterates over the arrivals of a part in an open stage.
type PartArrivals struct {
	Number     uint64 // of the current arrival, counted from the schedule's first
	IntendedNs int64  // intended start of the current arrival, on the run's clock
	Own        uint64 // number of the part's earlier arrivals
	Drawn      uint64 // number of the schedule's arrivals, of all parts, up to and including it
	Over       bool   // there are no more arrivals
	// Waits means that the current arrival isn't known yet: a growing shape doesn't reach that far, or it isn't decided
	// whether this machine sends it. IntendedNs is then the earliest possible time. See Known.
	Waits bool

	arrivals *Arrivals
	startNs  int64
	part     Part
	taken    uint64 // operations of the part that were drawn
	want     uint64 // number of the part's next operation
	end      uint64 // arrivals from this number on don't exist

	view     *view // nil without Part.Shared
	offsetNs int64 // with Part.Shared: see Stage.OffsetNs
	heldNs   int64 // if holds: time of an arrival that was drawn but isn't counted in Drawn yet
	holds    bool
}

// Arrivals returns two independent iterators over the same arrivals of an open stage: those of a worker's part with
// numbers below end. Two goroutines may use them.
func (s *Stage) Arrivals(worker Part, end uint64) (a, b PartArrivals) {
	var shared *view
	if worker.Shared != nil {
		shared = &view{of: worker.Shared}
	}
	of := func() PartArrivals {
		t := PartArrivals{arrivals: s.Shape.Arrivals(s.Process, s.Seed), startNs: s.StartNs, part: worker,
			want: worker.At(0), end: end, view: shared, offsetNs: s.OffsetNs}
		t.Advance()
		t.Own = 0
		return t
	}
	return of(), of()
}

// Known reports whether the current arrival is known, or that there is none. If it isn't known, it checks whether the
// shape has grown.
func (t *PartArrivals) Known() bool {
	if t.Waits {
		t.draw()
	}
	return !t.Waits
}

// Advance moves to the part's next arrival.
func (t *PartArrivals) Advance() {
	t.Own++
	t.draw()
}

// draw takes arrivals from the schedule until the part's next one.
func (t *PartArrivals) draw() {
	if t.view != nil {
		t.drawShared()
		return
	}
	t.Waits = false
	for {
		at, ok := t.arrivals.Next()
		if t.Waits = !ok && t.arrivals.waits; t.Waits {
			t.IntendedNs = t.startNs + at
			return
		}
		if !ok || t.Drawn >= t.end {
			t.Over = true
			return
		}
		if t.Drawn++; t.Drawn-1 == t.want {
			t.Number, t.IntendedNs = t.want, t.startNs+at
			t.taken++
			t.want = t.part.At(t.taken)
			return
		}
	}
}

// Arrivals returns an iterator over the arrivals in order. Iterators of the same shape, process and seed yield the same
// sequence on every machine; each owner in a fleet has its own iterator and skips the others' arrivals.
//
// Arrival i starts when the expected number of arrivals A(t), the integral of the rate, reaches a level. For Uniform
// the level is i, so the first arrival is at the start. For Poisson it is the sum of i + 1 exponential numbers with
// mean 1 (Lewis and Shedler 1979: the inverse of A turns a process of rate 1 into one of the shape's rate). The numbers
// are those of gen.NewStream(seed, "arrivals").
func (s *Shape) Arrivals(p Process, seed uint64) *Arrivals {
	return &Arrivals{shape: s, pieces: s.pieces, process: p, stream: gen.NewStream(seed, "arrivals")}
}

// Arrivals is an iterator over arrivals. It is not safe for concurrent use and never allocates.
type Arrivals struct {
	shape   *Shape
	pieces  []piece // of the shape, as far as they are known
	process Process
	stream  gen.Stream
	waits   bool // Next found that the shape doesn't reach the next arrival yet

	next  uint64  // number of the next arrival
	piece int     // index of the piece with the last arrival
	whole uint64  // Poisson: the level reached is whole + part
	part  float64 // [0, 1)
	last  int64   // ns
}

// Next returns the intended start of the next arrival, in ns after the shape's start; ok is false after the last one.
// Starts never decrease. If a growing shape doesn't reach the next arrival yet, ok is false and startNs is the end of
// the known pieces; a later call returns the arrival.
func (a *Arrivals) Next() (startNs int64, ok bool) {
	if a.next >= a.shape.limit {
		return 0, false
	}
	whole, part := a.next, 0.0
	if a.process == Poisson {
		if !a.waits {
			a.advance()
		}
		whole, part = a.whole, a.part
	}
	p := a.seek(whole, part)
	if p == nil && a.shape.growing != nil {
		var reachesNs int64
		if p, reachesNs = a.reload(whole, part); p == nil && reachesNs < a.shape.duration {
			a.waits = true
			return reachesNs, false
		}
	}
	a.waits = false
	if p == nil {
		a.next = a.shape.limit
		return 0, false
	}
	a.next++
	// Whole numbers below 2^53 are exact. Subtracting p.before first keeps the digits of the fractional part.
	at := int64(p.at(float64(whole)-p.before+part) + 0.5)
	a.last = max(a.last, min(at, p.startNs+p.durationNs-1))
	return a.last, true
}

// advance raises the Poisson level by an exponential number. The whole and the fractional part are kept separately, so
// that adding 10⁹ numbers loses no digits.
func (a *Arrivals) advance() {
	r := a.stream.At(a.next)
	a.part += r.ExpFloat64()
	up := uint64(a.part)
	a.whole += up
	a.part -= float64(up)
}

// seek returns the piece in which the level is reached; nil if there is none. It never goes back.
func (a *Arrivals) seek(whole uint64, part float64) *piece {
	level := float64(whole) + part
	for ; a.piece < len(a.pieces); a.piece++ {
		if p := &a.pieces[a.piece]; level < p.after {
			return p
		}
	}
	return nil
}

// reload is seek with the pieces that the shape has now. It also returns how far they reach.
func (a *Arrivals) reload(whole uint64, part float64) (p *piece, reachesNs int64) {
	a.pieces = *a.shape.growing.pieces.Load()
	if n := len(a.pieces); n > 0 {
		reachesNs = a.pieces[n-1].startNs + a.pieces[n-1].durationNs
	}
	return a.seek(whole, part), reachesNs
}
