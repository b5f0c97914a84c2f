package control

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// server is an M/M/c queue: Poisson arrivals, exponential service times, several servers.
type server struct {
	rng     *rand.Rand
	free    []float64 // the time at which each server becomes free
	muPerS  float64   // service rate of one server
	now     float64
	waiting []arrival // in the order of arrival
	errors  bool      // every request fails
}

type arrival struct{ at, start, end float64 }

// interval sends at a rate for one second and returns what was observed.
func (s *server) interval(ratePerS float64, figure func(sorted []float64) float64) Observation {
	until := s.now + 1
	offered := 0
	for t := s.now + s.rng.ExpFloat64()/ratePerS; t < until; t += s.rng.ExpFloat64() / ratePerS {
		offered++
		first := 0
		for i := range s.free {
			if s.free[i] < s.free[first] {
				first = i
			}
		}
		start := max(t, s.free[first])
		s.free[first] = start + s.rng.ExpFloat64()/s.muPerS
		s.waiting = append(s.waiting, arrival{t, start, s.free[first]})
	}
	o := Observation{IntervalS: 1, RatePerS: float64(offered), Value: math.NaN()}
	var times []float64
	rest := s.waiting[:0]
	for _, a := range s.waiting {
		switch {
		case a.end <= until:
			times = append(times, a.end-a.at)
		case a.start > until:
			o.Waiting++
			rest = append(rest, a)
		default:
			rest = append(rest, a)
		}
	}
	s.waiting, s.now = rest, until
	o.DonePerS = float64(len(times))
	if s.errors {
		o.DonePerS, o.Errors = 0, 1
		return o
	}
	if len(times) > 0 {
		slices.Sort(times)
		o.Value = figure(times)
	}
	return o
}

// responseBeyond returns the probability of a response time above t (Gross and Harris 1998, 2.3; Erlang C).
func responseBeyond(ratePerS, muPerS float64, servers int, t float64) float64 {
	a, c := ratePerS/muPerS, float64(servers)
	b := 1.0
	for k := 1; k <= servers; k++ {
		b = a * b / (float64(k) + a*b)
	}
	wait, free := b/(1-a/c*(1-b)), c-1-a
	if math.Abs(free) < 1e-9 {
		return math.Exp(-muPerS*t) * (1 + wait*muPerS*t)
	}
	return math.Exp(-muPerS*t) * (1 + wait*(1-math.Exp(-muPerS*t*free))/free)
}

// optimum returns the rate at which a share of the response times exceeds the goal.
func optimum(muPerS float64, servers int, goal, share float64) float64 {
	low, high := 0.0, muPerS*float64(servers)
	for range 100 {
		if mid := (low + high) / 2; responseBeyond(mid, muPerS, servers, goal) < share {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func newServer(seed uint64, servers int, muPerS float64) *server {
	return &server{rng: rand.New(rand.NewPCG(seed, 1)), free: make([]float64, servers), muPerS: muPerS}
}

// run lets a controller send to a server for n intervals.
func run(c *Controller, s *server, figure func([]float64) float64, n int, before func(i int)) []Decision {
	all := []Decision{c.First()}
	for i := range n {
		if before != nil {
			before(i)
		}
		all = append(all, c.Next(s.interval(all[len(all)-1].RatePerS, figure)))
	}
	return all
}

func meanRate(all []Decision) (sum float64) {
	n := 0
	for _, d := range all {
		if d.Reason != Baseline {
			sum += d.RatePerS
			n++
		}
	}
	return sum / float64(n)
}

// Each method comes within 5 % of the optimum in fewer than 60 intervals, from far below and from far above, and
// follows a capacity that is halved, in the same time. Arrivals and services are random, so a few runs fail.
func TestControllersSettle(t *testing.T) {
	const mu, servers, limitS, beyond = 500.0, 4, 0.020, 0.05
	spec := Spec{MinPerS: 10, MaxPerS: 100_000, Goal: beyond, Tolerance: 2, DelayS: 0.1, MaxErrors: 0.05}
	for _, method := range Methods() {
		for name, start := range map[string]float64{"from below": 50, "from above": 20_000} {
			t.Run(method+" "+name, func(t *testing.T) {
				good := 0
				const seeds = 20
				for seed := range uint64(seeds) {
					spec := spec
					spec.Method, spec.StartPerS = method, start
					c, s := New(spec), newServer(seed, servers, mu)
					figure := func(sorted []float64) float64 {
						i, _ := slices.BinarySearch(sorted, limitS)
						return 1 - float64(i)/float64(len(sorted))
					}
					best := func(mu float64) float64 { return optimum(mu, servers, limitS, beyond) }
					if method == Gradient {
						figure = func(sorted []float64) float64 { return sorted[len(sorted)/2] }
						// The median of an idle server is the median of its service time, ln 2/mu.
						best = func(mu float64) float64 { return optimum(mu, servers, 2*math.Ln2/mu, 0.5) }
					}
					all := run(c, s, figure, 240, func(i int) {
						if i == 120 {
							s.muPerS = mu / 2
						}
					})
					first, second := meanRate(all[60:120])/best(mu), meanRate(all[180:])/best(mu/2)
					if math.Abs(first-1) <= 0.05 && math.Abs(second-1) <= 0.05 {
						good++
					} else {
						t.Logf("seed %d: %.3f and %.3f of the optimum", seed, first, second)
					}
				}
				if good < seeds*4/5 {
					t.Errorf("%d of %d runs settled within 5 %%", good, seeds)
				}
			})
		}
	}
}

func steady() Observation {
	return Observation{IntervalS: 1, RatePerS: 1000, DonePerS: 1000, Value: 0.01}
}

func TestDecisions(t *testing.T) {
	spec := Spec{Method: PI, StartPerS: 1000, MinPerS: 100, MaxPerS: 4000, Goal: 0.05, DelayS: 0.1, MaxErrors: 0.05}
	for _, c := range []struct {
		name   string
		change func(o *Observation)
		reason Reason
		least  float64
		most   float64
	}{
		{"room", func(*Observation) {}, Raise, 1000.1, 1500},
		{"at the goal", func(o *Observation) { o.Value = 0.0505 }, Hold, 990, 1010},
		{"beyond the goal", func(o *Observation) { o.Value = 0.2 }, Lower, 500, 999},
		{"no answer at all", func(o *Observation) { o.Value = math.Inf(1) }, Lower, 500, 999},
		{"nothing known", func(o *Observation) { o.Value = math.NaN() }, Uncertain, 1000, 1000},
		{"the generator stood still", func(o *Observation) { o.Stalled, o.Value = true, 9 }, Stall, 1000, 1000},
		{"errors", func(o *Observation) { o.Errors = 0.06 }, Errors, 500, 500},
		{"few errors", func(o *Observation) { o.Errors = 0.04 }, Raise, 1000.1, 1500},
		{"arrivals wait", func(o *Observation) { o.Waiting, o.DonePerS = 300, 700 }, Overload, 210, 630},
		{"nothing is answered", func(o *Observation) { o.Waiting, o.DonePerS = 300, 0 }, Probe, 500, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := steady()
			c.change(&o)
			d := New(spec).Next(o)
			if d.Reason != c.reason {
				t.Errorf("reason %s, want %s", d.Reason, c.reason)
			}
			if d.RatePerS < c.least || d.RatePerS > c.most {
				t.Errorf("rate %g, want %g to %g", d.RatePerS, c.least, c.most)
			}
		})
	}
}

// While everything fails, the load falls to its minimum. It rises again when nothing fails any more.
func TestComesBackAfterErrors(t *testing.T) {
	for _, method := range Methods() {
		t.Run(method, func(t *testing.T) {
			c := New(Spec{
				Method: method, StartPerS: 1000, MinPerS: 10, MaxPerS: 1e5, Goal: 0.05, Tolerance: 2, DelayS: 0.1, MaxErrors: 0.05,
			})
			s := newServer(3, 4, 500)
			figure := func(sorted []float64) float64 {
				i, _ := slices.BinarySearch(sorted, 0.02)
				return 1 - float64(i)/float64(len(sorted))
			}
			if method == Gradient {
				figure = func(sorted []float64) float64 { return sorted[len(sorted)/2] }
			}
			all := run(c, s, figure, 140, func(i int) { s.errors = i >= 40 && i < 60 })
			if low := all[60].RatePerS; low != 10 {
				t.Errorf("while everything failed the rate was %g, want the least, 10", low)
			}
			if before, after := meanRate(all[25:40]), meanRate(all[125:]); after < 0.8*before {
				t.Errorf("%g/s before the errors, %g/s long after them", before, after)
			}
		})
	}
}

func TestSaysThatALimitIsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		spec    Spec
		atMost  bool
		atLeast bool
	}{
		"too low a most":   {Spec{Method: PI, StartPerS: 100, MinPerS: 10, MaxPerS: 500, Goal: 0.05}, true, false},
		"too high a least": {Spec{Method: PI, StartPerS: 1950, MinPerS: 1950, MaxPerS: 1e5, Goal: 0.0001}, false, true},
		"neither":          {Spec{Method: PI, StartPerS: 100, MinPerS: 10, MaxPerS: 1e5, Goal: 0.05}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.DelayS, c.spec.MaxErrors = 10, 0.05
			all := run(New(c.spec), newServer(5, 4, 500), func(sorted []float64) float64 {
				i, _ := slices.BinarySearch(sorted, 0.02)
				return 1 - float64(i)/float64(len(sorted))
			}, 100, nil)
			s := Settle(all)
			if got := s.AtMost > 0.5; got != c.atMost {
				t.Errorf("%.2f of the decisions were at the most, %v expected", s.AtMost, c.atMost)
			}
			if got := s.AtLeast > 0.5; got != c.atLeast {
				t.Errorf("%.2f of the decisions were at the least, %v expected", s.AtLeast, c.atLeast)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	series := func(n int, rate func(i int) float64) (all []Decision) {
		for i := range n {
			all = append(all, Decision{rate(i), Hold})
		}
		return all
	}
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func() float64 { return 1 + 0.02*rng.NormFloat64() }
	for _, c := range []struct {
		name   string
		all    []Decision
		steady bool
		rate   float64
	}{
		{"a climb, then steady", series(100, func(i int) float64 { return min(10*float64(i+1), 300) * noise() }), true, 300},
		{"it swings", series(100, func(i int) float64 { return 300 + 290*math.Sin(float64(i)) }), false, 300},
		{"it climbs to the end", series(100, func(i int) float64 { return math.Exp(float64(i) / 10) }), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Settle(c.all)
			if s.Steady != c.steady {
				t.Errorf("steady %v, want %v: %+v", s.Steady, c.steady, s)
			}
			if c.rate > 0 && math.Abs(s.RatePerS/c.rate-1) > 0.05 {
				t.Errorf("%g/s, want about %g", s.RatePerS, c.rate)
			}
			if c.steady && !(s.LowPerS <= c.rate && c.rate <= s.HighPerS) {
				t.Errorf("%g to %g doesn't hold %g", s.LowPerS, s.HighPerS, c.rate)
			}
		})
	}
	if s := Settle(nil); s.RatePerS != 0 || s.Steady {
		t.Errorf("nothing settles: %+v", s)
	}
}

// For any observation the rate stays within its limits.
func FuzzNext(f *testing.F) {
	f.Add(0.01, 100.0, 0.0, 0.0, uint8(0))
	f.Add(math.Inf(1), 0.0, 1.0, 1e9, uint8(1))
	f.Add(math.NaN(), math.MaxFloat64, 0.5, 1.0, uint8(2))
	f.Fuzz(func(t *testing.T, value, done, errors, waiting float64, method uint8) {
		c := New(Spec{Method: Methods()[int(method)%3], StartPerS: 50, MinPerS: 10, MaxPerS: 1000, Goal: 0.05, Tolerance: 2,
			DelayS: 0.1, MaxErrors: 0.05})
		o := Observation{IntervalS: 1, RatePerS: 50, DonePerS: math.Abs(done), Value: math.Abs(value),
			Errors: min(math.Abs(errors), 1), Waiting: math.Abs(waiting)}
		for i := range 50 {
			if i%7 == 6 {
				o.Waiting, o.DonePerS = 0, 100
			}
			if d := c.Next(o); !(d.RatePerS >= 10 && d.RatePerS <= 1000) || d.Reason == "" {
				t.Fatalf("decision %d: %+v", i, d)
			}
		}
	})
}
