package schedule

import (
	"errors"
	"fmt"
	"math"
)

const nsPerS = 1e9

// Shape is a load over time: consecutive segments. It is immutable, except that a Growing adds segments at its end.
type Shape struct {
	pieces   []piece // segments with a duration; of a growing shape, those at its beginning
	duration int64
	total    float64  // expected arrivals
	limit    uint64   // math.MaxUint64 means no limit
	growing  *Growing // adds further pieces; nil if all are known
}

// piece is a segment with its position in the shape. Rates are per second; arrivals are counted from the shape's start.
type piece struct {
	startNs    int64
	durationNs int64
	from, to   float64
	slope      float64 // per second², to − from over the duration
	before     float64 // expected arrivals up to its start
	after      float64 // expected arrivals up to its end
	expected   float64 // expected arrivals inside it, of which a whole segment drops a fraction
	times      []int64 // the arrivals, if they are listed
}

// NewShape returns the shape of the segments, which ends after limit arrivals (0 means no limit). It returns an error
// for negative or non-finite rates, for negative durations, and for loads too long to number their arrivals.
func NewShape(segments []Segment, limit uint64) (*Shape, error) {
	return NewExactShape(segments, nil, limit)
}

// NewExactShape is NewShape with an Exact for each segment; nil means none.
func NewExactShape(segments []Segment, exact []Exact, limit uint64) (*Shape, error) {
	s := &Shape{limit: limit}
	if limit == 0 {
		s.limit = math.MaxUint64
	}
	for i, g := range segments {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("segment %d of the load: %w", i+1, err)
		}
		if g.DurationNs == 0 {
			continue
		}
		if s.duration > math.MaxInt64-g.DurationNs {
			return nil, errors.New("the load lasts longer than 292 years: shorten a segment")
		}
		p := g.after(s.duration, s.total)
		if exact != nil {
			if err := p.count(&exact[i], s.total); err != nil {
				return nil, fmt.Errorf("segment %d of the load: %w", i+1, err)
			}
		}
		s.pieces = append(s.pieces, p)
		s.duration += g.DurationNs
		s.total = p.after
	}
	// Beyond this, consecutive arrivals have the same time in a float64.
	if s.total > 1<<52 {
		return nil, fmt.Errorf("the load has %g arrivals, at most 4.5e15 can be numbered: lower the rate", s.total)
	}
	return s, nil
}

// after returns the piece for a segment that starts at startNs, after the given number of expected arrivals.
func (g *Segment) after(startNs int64, before float64) piece {
	d := float64(g.DurationNs) / nsPerS
	p := piece{
		startNs: startNs, durationNs: g.DurationNs,
		from: g.RateFrom, to: g.RateTo, slope: (g.RateTo - g.RateFrom) / d,
		before: before,
	}
	p.after = snap(p.before + p.inside(d))
	p.expected = p.after - p.before
	return p
}

// count counts the arrivals of a segment, before which there are so many expected ones, as e says.
func (p *piece) count(e *Exact, before float64) error {
	switch {
	case e.TimesNs != nil:
		p.times, p.before = e.TimesNs, math.Ceil(before)
		p.after = p.before + float64(len(e.TimesNs))
		return CheckTimes(e.TimesNs, p.durationNs)
	case e.Whole:
		p.expected, p.before = snap(p.inside(float64(p.durationNs)/nsPerS)), math.Ceil(before)
		p.after = p.before + math.Floor(p.expected)
	}
	return nil
}

func (g *Segment) check() error {
	if g.DurationNs < 0 {
		return fmt.Errorf("its duration is %d ns: give 0 or more", g.DurationNs)
	}
	for _, rate := range [...]float64{g.RateFrom, g.RateTo} {
		if !(rate >= 0) || math.IsInf(rate, 0) {
			return fmt.Errorf("its rate is %g per second: give a number of 0 or more", rate)
		}
	}
	return nil
}

// CheckTimes returns an error unless times are ascending, from 0 to below the duration.
func CheckTimes(timesNs []int64, durationNs int64) error {
	for i, at := range timesNs {
		if at < 0 || at >= durationNs || i > 0 && at < timesNs[i-1] {
			return fmt.Errorf("arrival %d is at %d ns: give ascending times from 0 to below the duration", i+1, at)
		}
	}
	return nil
}

// snap rounds n to a whole number if it differs from it only by rounding errors: 30 segments of 0.1 s at 10/s have
// exactly 30 arrivals.
func snap(n float64) float64 {
	if whole := math.Round(n); math.Abs(n-whole) <= 1e-9+n*1e-13 {
		return whole
	}
	return n
}

// inside returns the expected number of arrivals in the first t seconds of the piece.
func (p *piece) inside(t float64) float64 { return t * (p.from + p.slope*t/2) }

// at returns when, in ns after the shape's start, the expected number of arrivals in the piece reaches n. It solves n =
// from·t + slope·t²/2 in the form without cancellation: from the start if the rate rises, from the end if it falls.
func (p *piece) at(n float64) float64 {
	switch {
	case p.times != nil:
		return float64(p.startNs + p.times[min(int(n), len(p.times)-1)])
	case p.slope == 0:
		return float64(p.startNs) + n*nsPerS/p.from
	case p.slope > 0:
		return float64(p.startNs) + 2*n*nsPerS/(p.from+math.Sqrt(p.from*p.from+2*p.slope*n))
	}
	rest := max(0, p.expected-n)
	root := p.to + math.Sqrt(p.to*p.to-2*p.slope*rest)
	if root == 0 {
		return float64(p.startNs + p.durationNs)
	}
	return float64(p.startNs+p.durationNs) - 2*rest*nsPerS/root
}

// DurationNs returns the length of all segments, including those that a growing shape doesn't have yet.
func (s *Shape) DurationNs() int64 { return s.duration }

// LastsNs returns how long the shape lasts, in ns: until its end or, with a limit, until the arrival after the last one
// would be due.
func (s *Shape) LastsNs() int64 {
	if s.growing != nil {
		return s.duration
	}
	unlimited := *s
	unlimited.limit = math.MaxUint64
	next := Arrivals{shape: &unlimited, pieces: s.pieces, next: s.limit}
	if at, ok := next.Next(); ok {
		return at
	}
	return s.duration
}
