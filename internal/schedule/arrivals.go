package schedule

import "brunt/internal/gen"

// Arrivals iterates over the arrivals in order. Iterators of one shape, process and seed give the
// same sequence wherever they run; a fleet of several owners gives each its own and lets it skip
// the others' arrivals.
//
// Arrival i starts when the expected number of arrivals A(t), the integral of the rate, reaches
// a level: i if arrivals are Uniform, so that the first is at the start, and the sum of i + 1
// exponential numbers of mean 1 if they are Poisson (Lewis and Shedler 1979: the inverse of A
// turns a process of rate 1 into one of the shape's rate). The numbers are those of
// gen.NewStream(seed, "arrivals").
func (s *Shape) Arrivals(p Process, seed uint64) *Arrivals {
	return &Arrivals{shape: s, process: p, stream: gen.NewStream(seed, "arrivals")}
}

// Arrivals is an iterator; it is not safe for concurrent use and never allocates.
type Arrivals struct {
	shape   *Shape
	process Process
	stream  gen.Stream

	next  uint64  // number of the next arrival
	piece int     // where the last one was
	whole uint64  // Poisson: the level reached is whole + part
	part  float64 // [0, 1)
	last  int64   // ns
}

// Next returns the intended start of the next arrival, in ns after the shape's start, or ok false
// after the last. Starts never decrease.
func (a *Arrivals) Next() (startNs int64, ok bool) {
	if a.next >= a.shape.limit {
		return 0, false
	}
	whole, part := a.next, 0.0
	if a.process == Poisson {
		a.advance()
		whole, part = a.whole, a.part
	}
	p := a.seek(whole, part)
	if p == nil {
		a.next = a.shape.limit
		return 0, false
	}
	a.next++
	// Whole numbers below 2^53 are exact; what comes before the piece is taken off first, so
	// that the part keeps its digits.
	at := int64(p.at(float64(whole)-p.before+part) + 0.5)
	a.last = max(a.last, min(at, p.startNs+p.durationNs-1))
	return a.last, true
}

// advance raises the Poisson level by an exponential number. Whole and part are kept apart so
// that adding 10⁹ numbers loses no digits.
func (a *Arrivals) advance() {
	r := a.stream.At(a.next)
	a.part += r.ExpFloat64()
	up := uint64(a.part)
	a.whole += up
	a.part -= float64(up)
}

// seek finds the piece in which the level is reached, never going back; nil if none.
func (a *Arrivals) seek(whole uint64, part float64) *piece {
	level := float64(whole) + part
	for ; a.piece < len(a.shape.pieces); a.piece++ {
		if p := &a.shape.pieces[a.piece]; level < p.after {
			return p
		}
	}
	return nil
}

// Skip passes over n arrivals: in constant time if they are Uniform, in time proportional to n
// if they are Poisson.
func (a *Arrivals) Skip(n uint64) {
	n = min(n, a.shape.limit-a.next)
	if a.process == Uniform {
		a.next += n
		return
	}
	for ; n > 0; n-- {
		if a.seek(a.whole, a.part) == nil {
			a.next = a.shape.limit
			return
		}
		a.advance()
		a.next++
	}
}
