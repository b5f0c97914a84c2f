package schedule

import (
	"fmt"
	"sync/atomic"
)

// Growing is a shape whose rate is decided during the load: segments are added at its end, each before the previous one
// is over. Iterators read them without a lock. One goroutine adds segments, any number of goroutines iterate.
//
// As for other shapes, the arrivals in the known segments are a pure function of these.
type Growing struct {
	pieces   atomic.Pointer[[]piece]
	duration int64
}

// NewGrowing returns a shape without segments that will last durationNs, which must be positive.
func NewGrowing(durationNs int64) *Growing {
	g := &Growing{duration: durationNs}
	g.pieces.Store(&[]piece{})
	return g
}

// Shape returns the shape that grows. It has no limit on arrivals.
func (g *Growing) Shape() *Shape {
	s, _ := NewShape(nil, 0) // without segments there can be no error
	s.duration, s.growing = g.duration, g
	return s
}

// ReachesNs returns the end of the last segment, in ns after the shape's start.
func (g *Growing) ReachesNs() int64 {
	pieces := *g.pieces.Load()
	if len(pieces) == 0 {
		return 0
	}
	last := &pieces[len(pieces)-1]
	return last.startNs + last.durationNs
}

// Extend adds a segment with the given rate, arrivals per second, that ends at untilNs after the shape's start, or at
// the shape's end if that is earlier. It does nothing if the shape reaches that far already. It returns an error if the
// rate is negative or not finite.
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
