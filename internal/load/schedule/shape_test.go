package schedule

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

func mustShape(t testing.TB, limit uint64, segments ...Segment) *Shape {
	t.Helper()
	s, err := NewShape(segments, limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func collect(a *Arrivals) []int64 {
	var starts []int64
	for {
		at, ok := a.Next()
		if !ok {
			return starts
		}
		starts = append(starts, at)
	}
}

func TestNewShapeRefusesNonsense(t *testing.T) {
	for _, g := range []Segment{
		{-1, 1, 1}, {1, -1, 1}, {1, 1, -0.5}, {1, math.NaN(), 1}, {1, 1, math.Inf(1)}, {1e18, 1e9, 1e9},
	} {
		if _, err := NewShape([]Segment{g}, 0); err == nil {
			t.Errorf("%+v was taken", g)
		}
	}
	long := Segment{DurationNs: math.MaxInt64, RateFrom: 0, RateTo: 0}
	if _, err := NewShape([]Segment{long, long}, 0); err == nil {
		t.Error("584 years were taken")
	}
}

func TestUniformArrivals(t *testing.T) {
	const s = 1_000_000_000
	for _, c := range []struct {
		name     string
		limit    uint64
		segments []Segment
		want     []int64
	}{
		{"constant", 0, []Segment{{s, 4, 4}}, []int64{0, s / 4, s / 2, 3 * s / 4}},
		{"limit", 2, []Segment{{s, 4, 4}}, []int64{0, s / 4}},
		{"gap in the middle", 0, []Segment{{s, 2, 2}, {s, 0, 0}, {s, 2, 2}}, []int64{0, s / 2, 2 * s, 5 * s / 2}},
		{"gap first", 0, []Segment{{s, 0, 0}, {s, 2, 2}}, []int64{s, 3 * s / 2}},
		{"nothing", 0, []Segment{{s, 0, 0}}, nil},
		{"no segment", 0, nil, nil},
		{"no duration", 0, []Segment{{0, 5, 5}, {s, 1, 1}}, []int64{0}},
		{"rate below one", 0, []Segment{{3 * s, 0.5, 0.5}}, []int64{0, 2 * s}},
		// A(t) = 2t²: arrival i at √(i/2) s.
		{"rising from zero", 0, []Segment{{2 * s, 0, 8}}, []int64{0, 707106781, s, 1224744871, 1414213562, 1581138830,
			1732050808, 1870828693}},
		// A(t) = 8t − 2t²: arrival i at 2 − √(4 − i/2) s.
		{"falling to zero", 0, []Segment{{2 * s, 8, 0}}, []int64{0, 129171307, 267949192, 418861170, 585786438, 775255129, s,
			1292893219}},
		{"thirty tenths", 0, repeat(30, Segment{s / 10, 10, 10}), multiples(30, s/10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := mustShape(t, c.limit, c.segments...)
			got := collect(shape.Arrivals(Uniform, 0))
			if len(got) != len(c.want) || uint64(len(got)) != shape.Count() {
				t.Fatalf("%d arrivals %v, Count %d, want %d", len(got), got, shape.Count(), len(c.want))
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("arrival %d at %d ns, want %d", i, got[i], c.want[i])
				}
			}
		})
	}
}

func repeat(n int, g Segment) []Segment {
	segments := make([]Segment, n)
	for i := range segments {
		segments[i] = g
	}
	return segments
}

func multiples(n int, step int64) []int64 {
	m := make([]int64, n)
	for i := range m {
		m[i] = int64(i) * step
	}
	return m
}

func TestUniformDoesNotDrift(t *testing.T) {
	const n = 1_000_000_000
	a := mustShape(t, 0, Segment{1000 * nsPerS, 1e6, 1e6}).Arrivals(Uniform, 0)
	for _, i := range []uint64{0, 1, 999_999, 123_456_789, 987_654_321, n - 1} {
		a.next = i
		if at, ok := a.Next(); !ok || at != int64(i)*1000 {
			t.Errorf("arrival %d at %d ns (%v), want %d", i, at, ok, i*1000)
		}
	}
	if at, ok := a.Next(); ok {
		t.Errorf("one more arrival at %d", at)
	}
}

// TestUniformPrefixes checks the defining property on random shapes: up to any instant, the number of arrivals differs
// from the expected number by less than one.
func TestUniformPrefixes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		segments := make([]Segment, 1+r.IntN(6))
		for i := range segments {
			segments[i] = Segment{r.Int64N(2_000_000_000), float64(r.IntN(4)) * 300 * r.Float64(),
				float64(r.IntN(4)) * 300 * r.Float64()}
		}
		shape := mustShape(t, 0, segments...)
		starts := collect(shape.Arrivals(Uniform, 0))
		if uint64(len(starts)) != shape.Count() {
			t.Fatalf("%+v: %d arrivals, Count %d", segments, len(starts), shape.Count())
		}
		for i, at := range starts {
			if i > 0 && at < starts[i-1] {
				t.Fatalf("%+v: arrival %d before its predecessor", segments, i)
			}
			if at < 0 || at >= shape.DurationNs() {
				t.Fatalf("%+v: arrival %d at %d ns, outside", segments, i, at)
			}
			if math.Abs(shape.Expected(at)-float64(i)) > 1e-6+shape.Rate(at)*1e-9 {
				t.Fatalf("%+v: arrival %d at %d ns, where %g are expected", segments, i, at, shape.Expected(at))
			}
		}
		if n := shape.Expected(shape.DurationNs()); math.Abs(n-float64(len(starts))) > 1 {
			t.Fatalf("%+v: %d arrivals, %g expected", segments, len(starts), n)
		}
	}
}

func TestRateAndExpected(t *testing.T) {
	shape := mustShape(t, 0, Segment{10, 0, 100}, Segment{0, 7, 7}, Segment{10, 50, 50}, Segment{10, 0, 0})
	for _, c := range []struct {
		ns       int64
		rate     float64
		expected float64 // × 10⁹
	}{{-1, 0, 0}, {0, 0, 0}, {5, 50, 125}, {10, 50, 500}, {15, 50, 750}, {20, 0, 1000}, {29, 0, 1000}, {30, 0, 1000},
		{99, 0, 1000}} {
		if got := shape.Rate(c.ns); math.Abs(got-c.rate) > 1e-9 {
			t.Errorf("Rate(%d) = %g, want %g", c.ns, got, c.rate)
		}
		if got := shape.Expected(c.ns) * nsPerS; math.Abs(got-c.expected) > 1 {
			t.Errorf("Expected(%d) = %g·10⁻⁹, want %g", c.ns, got, c.expected)
		}
	}
}

// pieceAt returns the index of the piece that contains an instant. ok is false outside of the shape.
func (s *Shape) pieceAt(ns int64) (i int, ok bool) {
	if ns < 0 || ns >= s.duration {
		return 0, false
	}
	return sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].startNs > ns }) - 1, true
}

// Rate returns the rate per second at ns after the start. It is 0 before the start and from the end on. Where two
// segments meet, it is the rate of the later one.
func (s *Shape) Rate(ns int64) float64 {
	i, ok := s.pieceAt(ns)
	if !ok {
		return 0
	}
	p := &s.pieces[i]
	return p.from + (p.to-p.from)*(float64(ns-p.startNs)/float64(p.durationNs))
}

// Expected returns the expected number of arrivals up to ns after the start: the integral of the rate, without the
// limit.
func (s *Shape) Expected(ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	i, ok := s.pieceAt(ns)
	if !ok {
		return s.total
	}
	p := &s.pieces[i]
	return min(p.after, p.before+p.inside(float64(ns-p.startNs)/nsPerS))
}

// Count returns the number of arrivals if they are Uniform: one at 0 expected arrivals, one at 1, and so on, all before
// the end.
func (s *Shape) Count() uint64 { return min(s.limit, uint64(math.Ceil(s.total))) }

func TestExactArrivals(t *testing.T) {
	const s = 1_000_000_000
	for _, c := range []struct {
		name     string
		segments []Segment
		exact    []Exact
		want     []int64
	}{
		{"a whole number", []Segment{{5 * s / 2, 1, 1}, {s, 2, 2}}, []Exact{{Whole: true}, {}},
			[]int64{0, s, 5 * s / 2, 3 * s}},
		{"falling, counted anew", []Segment{{s / 2, 1, 1}, {2 * s, 2, 1}}, []Exact{{}, {Whole: true}},
			[]int64{0, s / 2, 1035898384, 1671572875}},
		{"listed", []Segment{{s, 3, 3}, {s, 1, 1}}, []Exact{{TimesNs: []int64{5, 5, s - 1}}, {}}, []int64{5, 5, s - 1, s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape, err := NewExactShape(c.segments, c.exact, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := collect(shape.Arrivals(Uniform, 0))
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if d := got[i] - c.want[i]; d < -1 || d > 1 {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
	for _, wrong := range [][]int64{{-1}, {3, 2}, {10}} {
		if _, err := NewExactShape([]Segment{{10, 1, 1}}, []Exact{{TimesNs: wrong}}, 0); err == nil {
			t.Errorf("%v were taken", wrong)
		}
	}
}
