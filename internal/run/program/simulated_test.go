package program

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// simulated is a server of known capacity. Its answers to a trial are those that a real record would contain.
type simulated interface {
	// try answers rate arrivals per second for a number of seconds. rested means that it could recover before.
	try(rate, seconds float64, rested bool) answers
	// capacity returns the highest rate that passes, given the criteria of a trial.
	capacity() float64
}

// answers are the measurements of a trial.
type answers struct {
	response    *measure.Histogram // ns
	sumS        float64
	failed      uint64
	inTime      uint64
	offered     uint64
	outstanding []float64
	perS        []float64 // successful answers in each slice
}

// queue is a first-come, first-served queue of several servers. The values are the times at which they become free.
type queue []float64

// serve returns when an arrival at a time that takes need is done.
func (q queue) serve(at, need float64) float64 {
	first := 0
	for i := range q {
		if q[i] < q[first] {
			first = i
		}
	}
	q[first] = max(at, q[first]) + need
	return q[first]
}

const simulatedSlices = 24

// simulatedStreams are the random streams of a server. Each is used with the same number of seeds.
var simulatedStreams = []uint64{13, 2026}

// load sends arrivals at a rate. serve returns when each is done, or +Inf for one that fails at once.
func load(rng *rand.Rand, rate, seconds float64, poisson bool, serve func(at float64) float64) (a answers) {
	a.response = measure.NewHistogram()
	ends, well := make([]int, simulatedSlices+1), make([]int, simulatedSlices+1)
	begins := make([]int, simulatedSlices+1)
	slice := func(t float64) int { return min(int(t/seconds*simulatedSlices), simulatedSlices) }
	for t := 0.0; ; {
		if poisson {
			t += rng.ExpFloat64() / rate
		} else {
			t += 1 / rate
		}
		if t >= seconds {
			break
		}
		a.offered++
		begins[slice(t)]++
		end := serve(t)
		if math.IsInf(end, 1) {
			a.failed++
			ends[slice(t)]++
			continue
		}
		if end < seconds {
			a.inTime++
		}
		ends[slice(end)]++
		well[slice(end)]++
		a.sumS += end - t
		a.response.Record(int64((end - t) * 1e9))
	}
	out := 0
	for i := range simulatedSlices {
		out += begins[i] - ends[i]
		a.outstanding = append(a.outstanding, float64(out))
		a.perS = append(a.perS, float64(well[i])*simulatedSlices/seconds)
	}
	return a
}

// mmc is an M/M/c queue with a limit on the 99th percentile of response times.
type mmc struct {
	rng    *rand.Rand
	c      int
	mu     float64 // operations per second of one server
	limitS float64
}

func (m *mmc) try(rate, seconds float64, _ bool) answers {
	q := make(queue, m.c)
	return load(m.rng, rate, seconds, true, func(at float64) float64 { return q.serve(at, m.rng.ExpFloat64()/m.mu) })
}

// capacity solves P(response > limit) = 1 % (Gross and Harris 1998, 2.3; Erlang C).
func (m *mmc) capacity() float64 {
	low, high := 0.0, float64(m.c)*m.mu
	for range 100 {
		rate := (low + high) / 2
		if m.beyond(rate) < 0.01 {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

func (m *mmc) beyond(rate float64) float64 {
	a, c := rate/m.mu, float64(m.c)
	b := 1.0 // Erlang B
	for k := 1; k <= m.c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	wait := b / (1 - a/c*(1-b)) // Erlang C
	t, free := m.limitS, c-1-a
	if math.Abs(free) < 1e-9 {
		return math.Exp(-m.mu*t) * (1 + wait*m.mu*t)
	}
	return math.Exp(-m.mu*t) * (1 + wait*(1-math.Exp(-m.mu*t*free))/free)
}

// limiter refuses arrivals above a rate, by a token bucket.
type limiter struct {
	rng  *rand.Rand
	rate float64
}

func (l *limiter) try(rate, seconds float64, _ bool) answers {
	tokens, last := 5.0, 0.0
	return load(l.rng, rate, seconds, false, func(at float64) float64 {
		tokens, last = min(tokens+(at-last)*l.rate, 5), at
		if tokens < 1 {
			return math.Inf(1)
		}
		tokens--
		return at + 0.002 + 0.0005*l.rng.Float64()
	})
}

// capacity returns the rate at which 1 % is refused. A trial may fail that share, as errors or as arrivals that are not
// answered in time.
func (l *limiter) capacity() float64 { return l.rate / leastAchieved }

// leaky becomes slower with every operation that it has served.
type leaky struct {
	rng    *rand.Rand
	c      int
	serveS float64 // seconds per operation at first
	leak   float64 // relative increase per million operations
	served float64
}

func (l *leaky) now() float64 { return l.serveS * (1 + l.leak*l.served/1e6) }

func (l *leaky) try(rate, seconds float64, _ bool) answers {
	q := make(queue, l.c)
	return load(l.rng, rate, seconds, false, func(at float64) float64 {
		l.served++
		return q.serve(at, l.now()*(0.5+l.rng.Float64()))
	})
}

// capacity returns the rate at which the backlog grows by the share that fails a trial.
func (l *leaky) capacity() float64 { return float64(l.c) / l.now() * (1 + backlogShare) }

// collapsing loses most of its capacity if many operations wait, until it has had time to recover.
type collapsing struct {
	rng    *rand.Rand
	c      int
	serveS float64
	sick   bool
}

func (s *collapsing) try(rate, seconds float64, rested bool) answers {
	if rested {
		s.sick = false
	}
	q := make(queue, s.c)
	return load(s.rng, rate, seconds, false, func(at float64) float64 {
		if slices.Min(q)-at > 50*s.serveS {
			s.sick = true
		}
		need := s.serveS * (0.5 + s.rng.Float64())
		if s.sick {
			need *= 2.5
		}
		return q.serve(at, need)
	})
}

func (s *collapsing) capacity() float64 { return float64(s.c) / s.serveS }

// resultOf returns the result that the record of a real trial would have.
func resultOf(t Trial, a *answers, seconds, limitS float64, base *Result) Result {
	all := measure.Answers{Times: a.response, NoAnswer: a.failed}
	q := func(q float64) record.Figure { return figure(record.Ns(all.Quantile(q))) }
	r := Result{Trial: t, Verdict: verdict.Pass, OfferedPerS: float64(a.offered) / seconds,
		AchievedPerS: float64(a.inTime) / seconds, PeakPerS: slices.Max(a.perS), P50Ns: q(0.5), P95Ns: q(0.95),
		P99Ns:  q(0.99),
		Errors: float64(a.failed) / float64(a.offered)}
	r.ServiceNs, r.InFlight = a.sumS/float64(a.response.Count())*1e9, a.sumS/seconds
	if limitS > 0 {
		if r.Strain = r.P99Ns / record.Figure(limitS*1e9); r.Strain > 1 {
			r.Verdict, r.Why = verdict.Fail, []message.Message{message.Literal("p99")}
		}
	}
	r.settle(a.offered, a.inTime, a.outstanding, base)
	return r
}

// TestBracketsOfServersOfKnownCapacity runs many searches of servers whose capacity is known.
func TestBracketsOfServersOfKnownCapacity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		make    func(rng *rand.Rand) simulated
		seconds float64
		limitS  float64
		profile float64
		seeds   int
	}{
		{"M/M/4", func(rng *rand.Rand) simulated { return &mmc{rng, 4, 2000 + 3000*rng.Float64(), 0.008} }, 30, 0.008,
			2500, 30},
		{"hard limiter", func(rng *rand.Rand) simulated { return &limiter{rng, 300 + 900*rng.Float64()} }, 10, 0, 100, 60},
		{"slowly leaking", func(rng *rand.Rand) simulated {
			return &leaky{rng: rng, c: 4, serveS: 0.004 + 0.008*rng.Float64(), leak: 0.05}
		}, 20, 2, 100, 60},
		{"collapses under overload", func(rng *rand.Rand) simulated {
			return &collapsing{rng: rng, c: 4, serveS: 0.004 + 0.008*rng.Float64()}
		}, 20, 0, 100, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			held, trials, most, widest, unsettled, wide := 0, 0, 0, 0.0, 0, 0
			var missed []string
			all := c.seeds * len(simulatedStreams)
			if testing.Short() || fewer {
				all /= 6
			}
			for k := range all {
				seed, stream := uint64(k%c.seeds), simulatedStreams[k/c.seeds]
				server := c.make(rand.New(rand.NewPCG(seed, stream)))
				o := DefaultSearch()
				o.RatePerS, o.Relative = c.profile, c.limitS == 0
				s := NewSearch(o)
				for {
					next, more := s.Next()
					if !more {
						break
					}
					a := server.try(next.N*c.profile, c.seconds, next.Recover)
					s.Take(resultOf(next, &a, c.seconds, c.limitS, s.base()))
				}
				b := s.Bracket()
				if truth := server.capacity() / c.profile; b.Lower <= truth && truth <= b.Upper {
					held++
				} else {
					missed = append(missed, fmt.Sprintf("seed %d of %d: %.4g in [%.4g, %.4g] %s", seed, stream, truth, b.Lower,
						b.Upper, b.End))
				}
				trials += b.TrialsDone
				most, widest = max(most, b.TrialsDone), max(widest, b.Width())
				if b.Width() > o.Width+1e-9 || b.TrialsDone > o.Trials {
					wide++
				}
				if b.End != Found {
					unsettled++
					t.Logf("seed %d of %d: %s, [%.4g, %.4g]: %s", seed, stream, b.End, b.Lower, b.Upper, path(s))
				}
			}
			t.Logf(
				"%d of %d brackets hold the capacity; the widest is %.2f %%; %.1f trials on average, %d at most; %d not settled",
				held, all, widest*100, float64(trials)/float64(all), most, unsettled)
			for _, m := range missed {
				t.Log(m)
			}
			if held*100 < all*95 || (wide+unsettled)*100 > all*5 || most > 14 {
				t.Errorf("wanted: at least 95 %% hold it and are settled, at most 3 %% wide, at most 14 trials")
			}
		})
	}
}

func path(s *Search) (out string) {
	for _, r := range s.Results() {
		out += fmt.Sprintf(" %.4g:%s(%s)", r.N, r.Verdict[:1], r.Purpose[:1])
	}
	return out
}
