package schedule

import (
	"fmt"
	"sync/atomic"
)

// Growing is a shape whose rate is decided while it is being sent: segments are added at its end, each before the one
// that precedes it is over. Iterators find them without a lock. One goroutine adds, any number iterate.
//
// Arrivals up to where the shape reaches are a pure function of the segments, as those of other shapes are.
type Growing struct {
	pieces   atomic.Pointer[[]piece]
	duration int64
}

// NewGrowing returns a shape that will last so long, more than 0 ns, and has no segment yet.
func NewGrowing(durationNs int64) *Growing {
	g := &Growing{duration: durationNs}
	g.pieces.Store(&[]piece{})
	return g
}

// Shape is the shape that grows, without a limit on arrivals.
func (g *Growing) Shape() *Shape {
	s, _ := NewShape(nil, 0) // nothing can be wrong with no segments
	s.duration, s.growing = g.duration, g
	return s
}

// ReachesNs is the end of the last segment, ns after the shape's start.
func (g *Growing) ReachesNs() int64 {
	pieces := *g.pieces.Load()
	if len(pieces) == 0 {
		return 0
	}
	last := &pieces[len(pieces)-1]
	return last.startNs + last.durationNs
}

// Extend lets the shape go on at a rate, arrivals a second, until so many ns after its start, or until its end if that
// is earlier. It does nothing if the shape reaches that far already, and fails for a rate that is negative or not
// finite.
func (g *Growing) Extend(untilNs int64, ratePerS float64) error {
	reaches := g.ReachesNs()
	s := Segment{DurationNs: min(untilNs, g.duration) - reaches, RateFrom: ratePerS, RateTo: ratePerS}
	if s.DurationNs <= 0 {
		return nil
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("the load from %d ns on: %w", reaches, err)
	}
	pieces := *g.pieces.Load()
	before := 0.0
	if n := len(pieces); n > 0 {
		before = pieces[n-1].after
	}
	// Readers of the old slice don't look beyond its end.
	pieces = append(pieces, s.after(reaches, before))
	g.pieces.Store(&pieces)
	return nil
}
