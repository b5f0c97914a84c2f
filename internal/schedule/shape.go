package schedule

// Shape is a load over time: segments one after the other. It is immutable.
type Shape struct{}

// NewShape returns the shape of the segments, stopping after limit arrivals (0 means no limit).
// It fails for negative or non-finite rates and durations.
func NewShape(segments []Segment, limit uint64) (*Shape, error) { panic("unwritten") }

// DurationNs is the length of all segments.
func (s *Shape) DurationNs() int64 { panic("unwritten") }

// Rate is the rate, per second, at ns after the start.
func (s *Shape) Rate(ns int64) float64 { panic("unwritten") }

// Expected is the expected number of arrivals up to ns after the start (the integral of the rate).
func (s *Shape) Expected(ns int64) float64 { panic("unwritten") }

// Arrivals iterates over the arrivals in order. Iterators of one shape, process and seed give the
// same sequence wherever they run; a fleet of several owners gives each its own and lets it skip
// the others' arrivals.
func (s *Shape) Arrivals(p Process, seed uint64) *Arrivals { panic("unwritten") }

// Arrivals is an iterator; it is not safe for concurrent use and never allocates.
type Arrivals struct{}

// Next returns the intended start of the next arrival, in ns after the shape's start, or ok false
// after the last. Starts never decrease.
func (a *Arrivals) Next() (startNs int64, ok bool) { panic("unwritten") }
