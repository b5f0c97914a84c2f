package program

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// walk runs a search whose trials are answered by f.
func walk(t *testing.T, o SearchOptions, f func(Trial) Result) *Search {
	t.Helper()
	s := NewSearch(o)
	for range 1000 {
		next, more := s.Next()
		if !more {
			return s
		}
		if next.N < o.Min || next.N > o.Max || next.Sessions < o.Sessions || next.Sessions > o.MaxSessions {
			t.Fatalf("a trial outside of the bounds: %+v", next)
		}
		s.Take(f(next))
	}
	t.Fatal("the search doesn't end")
	return nil
}

// sharp returns a target that passes all loads up to its capacity and fails all above.
func sharp(capacity float64) func(Trial) Result {
	return func(t Trial) Result {
		r := Result{Trial: t, Verdict: verdict.Pass, OfferedPerS: t.N * 100, AchievedPerS: min(t.N, capacity) * 100,
			ServiceNs: 1e6, P50Ns: 1e6, InFlight: t.N / 10}
		if t.N > capacity {
			r.Verdict = verdict.Fail
		}
		return r
	}
}

func options() SearchOptions {
	o := DefaultSearch()
	o.RatePerS, o.Trials = 100, 40
	return o
}

func TestSearchBracketsSharpLimits(t *testing.T) {
	for _, capacity := range []float64{0.1, 0.11, 0.7, 0.99, 1, 1.5, 19, 646, 999} {
		s := walk(t, options(), sharp(capacity))
		b := s.Bracket()
		if b.End != Found || b.Lower > capacity || b.Upper <= capacity || b.Width() > 0.03+1e-9 || b.Confirmed != 3 ||
			b.Refuted != 2 || b.Unsettled {
			t.Errorf("capacity %g: %+v after%s", capacity, b, path(s))
		}
	}
}

func TestSearchAtItsBounds(t *testing.T) {
	if b := walk(t, options(), sharp(5000)).Bracket(); b.End != AtHighest || b.Lower != 1000 || b.Upper != 0 {
		t.Errorf("passes everywhere: %+v", b)
	}
	s := walk(t, options(), sharp(0.05))
	if b := s.Bracket(); b.End != AtLowest || b.Lower != 0 || b.Upper != 0.1 || b.Refuted != 2 {
		t.Errorf("fails everywhere: %+v after%s", b, path(s))
	}
	relative := options()
	relative.Relative = true
	s = walk(t, relative, sharp(0.05))
	if b := s.Bracket(); b.End != AtLowest || s.Results()[0].Purpose != BaseLine || s.Results()[0].N != relative.Min {
		t.Errorf("fails at its base line: %+v after%s", b, path(s))
	}
}

// A trial that the generator distorted is repeated, and doesn't count as a failure of the target.
func TestSearchWithASpoiledTrial(t *testing.T) {
	for _, times := range []int{1, 2} {
		spoiled := map[float64]int{}
		s := walk(t, options(), func(tr Trial) Result {
			r := sharp(19)(tr)
			if spoiled[tr.N] < times {
				spoiled[tr.N]++
				r.Verdict = verdict.Invalid
			}
			return r
		})
		if b := s.Bracket(); b.End != OutOfTrials && b.End != Found || b.Lower > 19 || b.Upper != 0 && b.Upper < 19 {
			t.Errorf("%d spoiled trials of each load: %+v after%s", times, b, path(s))
		}
	}
	s := walk(t, options(), func(tr Trial) Result {
		r := sharp(19)(tr)
		if tr.N > 7 {
			r.Verdict = verdict.Invalid
		}
		return r
	})
	if b := s.Bracket(); b.End != GeneratorLimit || b.Lower > 7 || b.Lower < 6.5 || b.Refuted != 0 {
		t.Errorf("a generator that can't offer more than 7: %+v after%s", b, path(s))
	}
	s = walk(t, options(), func(tr Trial) Result { return Result{Trial: tr, Verdict: verdict.Invalid} })
	if b := s.Bracket(); b.End != GeneratorLimit && b.End != OutOfTrials || b.Lower != 0 {
		t.Errorf("a generator that can't offer anything: %+v after%s", b, path(s))
	}
}

// A trial whose thresholds pass although the generator sent late is valid, because they would also pass without the
// delay. A trial without thresholds, or one that fails a threshold, remains invalid.
func TestLateTrialsPassIfTheirRulesHold(t *testing.T) {
	outcome := func(late bool, answered uint64, thresholds ...record.Threshold) *Outcome {
		o := &Outcome{Run: &record.Run{Thresholds: thresholds}, AnsweredInTime: answered, Outstanding: make([]float64, 24)}
		o.Run.Verdict = record.Verdict{Result: verdict.Invalid, Reasons: []message.Message{message.Literal("late")},
			LateAlone: late}
		o.Run.Total.Offered, o.Run.Total.OfferedPerS, o.Run.Total.Response.P95Ns = 1000, 100, 9e6
		return o
	}
	rule := record.Threshold{Text: "p(95) < 10ms", Unit: "ns", Limit: 10e6, Value: 9e6, Pass: true}
	for _, c := range []struct {
		name string
		o    *Outcome
		base *Result
		want string
	}{
		{"its rules hold", outcome(true, 1000, rule), nil, verdict.Pass},
		{"more than lateness speaks against it", outcome(false, 1000, rule), nil, verdict.Invalid},
		{"too few were answered", outcome(true, 900, rule), nil, verdict.Invalid},
		{"the base line itself", outcome(true, 1000), nil, verdict.Invalid},
		{"beside the base line", outcome(true, 1000), &Result{P95Ns: 8e6}, verdict.Pass},
		{"far from the base line", outcome(true, 1000), &Result{P95Ns: 1e6}, verdict.Invalid},
	} {
		if r := JudgeTrial(Trial{N: 1}, c.o, c.base); r.Verdict != c.want ||
			(r.Verdict == verdict.Invalid) != (len(r.Why) > 0) {
			t.Errorf("%s: %s, %q", c.name, r.Verdict, r.Why)
		}
	}
}

// A single failure far below the target's capacity doesn't decide.
func TestSearchWithAHiccup(t *testing.T) {
	first := true
	s := walk(t, options(), func(tr Trial) Result {
		r := sharp(19)(tr)
		if tr.N > 2 && first {
			first, r.Verdict = false, verdict.Fail
		}
		return r
	})
	if b := s.Bracket(); b.End != Found || b.Lower > 19 || b.Upper < 19 {
		t.Errorf("%+v after%s", b, path(s))
	}
}

// A trial that fails by chance, far below the limit of response times, is repeated at once and doesn't anchor the search.
// If it fails twice, the maximum is tried above.
func TestSearchIsNotAnchoredByChance(t *testing.T) {
	for _, bad := range []int{1, 2} {
		for _, at := range []float64{1, 4} { // the first trial, and one of the rise
			left := bad
			s := walk(t, options(), func(tr Trial) Result {
				r := sharp(20)(tr)
				r.Strain = record.Figure(0.1 + 0.1*tr.N/20)
				if tr.N >= at && left > 0 && r.Verdict == verdict.Pass {
					left--
					r.Verdict, r.AchievedPerS = verdict.Fail, 0.966*r.OfferedPerS
				}
				if tr.N > 20 {
					r.Strain = 5
				}
				return r
			})
			b := s.Bracket()
			if b.Lower > 20 || b.Upper <= 20 || b.Lower < 19 || b.TrialsDone > 30 {
				t.Errorf("%d bad trials from N %g on: %+v", bad, at, b)
			}
		}
	}
}

// If a target answers at random, the search still ends within its number of trials, and its lower end is below its
// upper end.
func TestSearchOfNonsenseEnds(t *testing.T) {
	for seed := range 200 {
		k := seed
		o := options()
		o.Trials = 14
		s := walk(t, o, func(tr Trial) Result {
			k = (k*7919 + 13) % 104729
			v := []string{verdict.Pass, verdict.Fail, verdict.Invalid}[k%3]
			return Result{Trial: tr, Verdict: v, OfferedPerS: tr.N * 100, AchievedPerS: float64(k % 5000), ServiceNs: float64(k),
				Strain: record.Figure(k%30) / 10, Waited: float64(k%2) / 2}
		})
		b := s.Bracket()
		if b.TrialsDone > 14 || b.Lower > 0 && b.Upper > 0 && b.Lower >= b.Upper {
			t.Errorf("seed %d: %+v after%s", seed, b, path(s))
		}
	}
}

func TestSearchProvidesSessions(t *testing.T) {
	o := options()
	o.MaxSessions = 200
	most := 0
	s := walk(t, o, func(tr Trial) Result {
		r := sharp(19)(tr)
		r.ServiceNs = 20e6
		need := tr.N * 100 * 0.02 // Little's law
		if float64(tr.Sessions) < need {
			r.Verdict, r.Waited = verdict.Fail, 0.9
		}
		most = max(most, tr.Sessions)
		return r
	})
	if b := s.Bracket(); b.End != Found || b.Lower > 19 || b.Upper < 19 || most > 200 || most < 100 {
		t.Errorf("%+v with up to %d sessions after%s", b, most, path(s))
	}
	for _, r := range s.Results() {
		if r.TooFew && r.Verdict != verdict.Fail {
			t.Errorf("%+v", r)
		}
	}
}

// A target that accepts fewer sessions than the search requests is not regarded as too weak.
func TestSearchKeepsToTheSessionsThatConnect(t *testing.T) {
	o := options()
	o.MaxSessions = 200
	const lets = 60
	turnedAway := 0
	s := walk(t, o, func(tr Trial) Result {
		r := sharp(19)(tr)
		r.ServiceNs = 20e6
		if tr.Sessions > lets {
			turnedAway++
			r.Verdict, r.Connected = verdict.Fail, lets
		}
		return r
	})
	if b := s.Bracket(); b.End != Found || b.Lower > 19 || b.Upper < 19 || turnedAway != 1 {
		t.Errorf("%+v, turned away %d times after%s", b, turnedAway, path(s))
	}
	s = walk(t, o, func(tr Trial) Result { // it refuses sessions that it accepted before
		r := sharp(19)(tr)
		if tr.N > 7 {
			r.Verdict, r.Connected = verdict.Fail, o.Sessions
		}
		return r
	})
	if b := s.Bracket(); b.End != Found || b.Lower > 7 || b.Upper < 7 {
		t.Errorf("%+v after%s", b, path(s))
	}
}

// away is the error of a target that can't be reached.
type away struct{}

func (away) Error() string     { return "too many clients" }
func (away) Unreachable() bool { return true }

// If another load uses up the target's connections for a while, trials are lost, but the target isn't blamed. The
// search ends only if this continues.
func TestSearchBesideALoadThatTakesTheConnections(t *testing.T) {
	s := walk(t, options(), func(tr Trial) Result {
		r := sharp(19)(tr)
		if tr.Number == 3 || tr.Number == 6 {
			r.Verdict, r.Connected = verdict.Fail, 2
		}
		return r
	})
	if b := s.Bracket(); b.End != Found || b.Lower > 19 || b.Upper < 19 || !s.results[2].Unreached ||
		s.results[2].N != s.results[3].N || s.results[3].Sessions < options().Sessions {
		t.Errorf("%+v after%s", b, path(s))
	}
	p := &plan.Plan{Name: "p", Operations: []plan.Operation{{Name: "a", Weight: 100}},
		Load:       []plan.Phase{{Kind: plan.Open, RateFrom: 100, RateTo: 100}},
		Thresholds: []plan.Threshold{{Rule: metric.Rule{Text: "errors < 1%"}}}}
	for _, c := range []struct {
		name        string
		gone, until int // numbers of trials
		rests       int
		lasts       bool
	}{{"for a while", 3, 5, 3, false}, {"from the first trial on", 1, 99, 0, true},
		{"from the third on", 3, 99, 3, true}} {
		rests, begun := 0, 0
		h, err := NewTargetSearch(p, options())
		if err != nil {
			t.Fatal(err)
		}
		h.Rest = func(_ context.Context, d time.Duration) error {
			if d == untilConnected {
				rests++
			}
			return nil
		}
		h.Drive = func(_ context.Context, o Load) (*Outcome, error) {
			if begun++; begun >= c.gone && begun <= c.until {
				return nil, away{}
			}
			n := int(o.PeakPerS)
			out := &Outcome{Run: &record.Run{}, Dir: o.Name, AnsweredInTime: uint64(min(n, 1900)),
				Outstanding: make([]float64, 24)}
			out.Run.Verdict.Result = verdict.Pass
			out.Run.Total.Offered, out.Run.Total.OfferedPerS = uint64(n), float64(n)
			return out, nil
		}
		found, err := h.Run(context.Background())
		if (err != nil) != c.lasts || err != nil && !errors.Is(err, away{}) || rests != c.rests {
			t.Errorf("%s: %v after %d rests and%s", c.name, err, rests, path(found))
		}
		if b := found.Bracket(); !c.lasts && (b.End != Found || b.Lower > 19.2 || b.Upper < 19) {
			t.Errorf("%s: %+v after%s", c.name, b, path(found))
		}
	}
}

func TestSearchOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*SearchOptions){
		"no lowest": func(o *SearchOptions) { o.Min = 0 }, "upside down": func(o *SearchOptions) { o.Max = o.Min },
		"start outside": func(o *SearchOptions) { o.Start = 1e6 }, "no width": func(o *SearchOptions) { o.Width = 0 },
		"one trial": func(o *SearchOptions) { o.Trials = 1 }, "no sessions": func(o *SearchOptions) { o.Sessions = 0 },
		"not a number": func(o *SearchOptions) { o.Min = math.NaN() },
	} {
		o := DefaultSearch()
		if change(&o); o.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	o := DefaultSearch()
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}

func TestCurve(t *testing.T) {
	// An M/M/1 queue of 1000/s has its maximum power at half of its capacity.
	s := NewSearch(options())
	for _, n := range []float64{1, 2, 4, 5, 6, 8, 9} {
		rate := n * 100
		response := 1e9 / (1000 - rate)
		s.Take(Result{Trial: Trial{N: n}, Verdict: verdict.Pass, OfferedPerS: rate, AchievedPerS: rate,
			P50Ns: record.Figure(response), InFlight: rate * response / 1e9})
	}
	c := s.Curve()
	if c.KneeN != 5 || !slices.IsSortedFunc(c.Points, func(a, b Result) int { return int(a.N - b.N) }) {
		t.Errorf("knee at %g of %d points", c.KneeN, len(c.Points))
	}
	if c.Law == nil || c.LawPeak != 0 {
		t.Errorf("a queue that saturates has no peak in reach: %+v", c)
	}
	if c := NewSearch(options()).Curve(); c.Law != nil || c.LawWhy.IsZero() || c.KneeN != 0 {
		t.Errorf("nothing measured: %+v", c)
	}
}

// A knee at the edge of the tried range, or a law that the trials don't follow, is not reported.
func TestCurveOfLittle(t *testing.T) {
	take := func(achieved func(n float64) float64, response func(n float64) float64, loads ...float64) Curve {
		s := NewSearch(options())
		for _, n := range loads {
			x := achieved(n)
			s.Take(Result{Trial: Trial{N: n}, Verdict: verdict.Pass, OfferedPerS: n * 100, AchievedPerS: x,
				P50Ns: record.Figure(response(n)), InFlight: n * 3})
		}
		return s.Curve()
	}
	flat := func(float64) float64 { return 1e6 }
	if c := take(func(n float64) float64 { return n * 100 }, flat, 1, 2, 4, 8); c.KneeN != 0 {
		t.Errorf("power grows to the highest load, and the knee is at %g", c.KneeN)
	}
	falls := func(n float64) float64 { return 1e6 * n * n }
	if c := take(func(n float64) float64 { return n * 100 }, falls, 1, 2, 4, 8); c.KneeN != 0 {
		t.Errorf("power falls from the lowest load, and the knee is at %g", c.KneeN)
	}
	// If the trials went beyond the law's peak, at 10 in flight, the peak is known.
	law := stats.USL{Lambda: 100, Kappa: 0.01}
	c := take(func(n float64) float64 { return law.At(3 * n) }, flat, 1, 2, 3, 4, 6, 8)
	if c.Law == nil || math.Abs(c.LawPeak-10) > 0.1 || math.Abs(c.LawPeakPerS-law.At(10)) > 1 {
		t.Errorf("a law with a peak at 10: %+v, %q", c, c.LawWhy)
	}
	zigzag := func(n float64) float64 { return 300 + 250*float64(int(n)%2) }
	if c := take(zigzag, flat, 1, 2, 3, 4, 5, 6); c.Law != nil || !strings.Contains(c.LawWhy.String(), "R² is") {
		t.Errorf("the law of throughputs that follow none: %+v, %q", c.Law, c.LawWhy)
	}
}

// The report says why a backlog is regarded as growing.
func TestBacklogsSentence(t *testing.T) {
	r, waiting := Result{Verdict: verdict.Pass}, make([]float64, 24)
	for i := range waiting {
		waiting[i] = 10 * float64(i)
	}
	r.settle(10_000, 10_000, waiting, nil)
	want := "the backlog grows: by 240 operations over the load, from 5 to 225, where 50 of 10,000 may be " +
		"(Mann–Kendall, p < 0.01)"
	if len(r.Why) != 1 || !strings.HasPrefix(r.Why[0].String(), want) {
		t.Errorf("%q, want %q", r.Why, want)
	}
}

// The default limit needs a hundred arrivals or more and a base line that passed, whether or not it was the first.
func TestDefaultLimitRestsOnEnough(t *testing.T) {
	p := &plan.Plan{Operations: []plan.Operation{{Name: "a", Weight: 1}},
		Load: []plan.Phase{{Kind: plan.Open, RateFrom: 10, RateTo: 10}}}
	h, err := NewTargetSearch(p, DefaultSearch())
	if err != nil {
		t.Fatal(err)
	}
	h.Trial, h.WarmUp = time.Second, 0
	h.Rest = func(context.Context, time.Duration) error { return nil }
	trials := 0
	h.Drive = func(_ context.Context, o Load) (*Outcome, error) {
		trials++
		due := o.PeakPerS * o.Plan.Load[len(o.Plan.Load)-1].Duration.Seconds()
		if trials <= 2 && due < 100 {
			t.Errorf("trial %d: a base line of %.0f arrivals", trials, due)
		}
		out := &Outcome{Dir: o.Name, AnsweredInTime: uint64(due), Outstanding: make([]float64, 24),
			Run: &record.Run{Phases: []record.Phase{{Kind: "open", Offered: uint64(due)}}}}
		out.Run.Total.Offered, out.Run.Total.OfferedPerS = uint64(due), o.PeakPerS
		out.Run.Total.Response.P95Ns = 1e6
		if o.PeakPerS > 20 {
			out.Run.Total.Response.P95Ns = 1e9
		}
		if out.Run.Verdict.Result = verdict.Pass; trials == 1 {
			out.Run.Verdict.Result = verdict.Invalid
		}
		return out, nil
	}
	s, err := h.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Bracket(); b.Lower == 0 || b.Lower > 2.01 {
		t.Errorf("the base line was spoiled once, and the limit is gone: %+v", b)
	}
}

func TestABBA(t *testing.T) {
	if got := ABBA(3); !slices.Equal(got, []string{"A", "B", "B", "A", "A", "B"}) {
		t.Errorf("got %v", got)
	}
}

// The strictest quantile determines how many operations a load needs, and the rate how long they take.
func TestEnoughOperationsForAQuantile(t *testing.T) {
	quantile := func(q float64) plan.Threshold {
		return plan.Threshold{Rule: metric.Rule{Metric: "response", Aggregate: "p", Quantile: q}}
	}
	for name, c := range map[string]struct {
		thresholds []plan.Threshold
		n          float64
		want       time.Duration
	}{
		"p95 of 50/s":                    {[]plan.Threshold{quantile(95)}, 1, 2 * time.Second},
		"p95 of 5/s":                     {[]plan.Threshold{quantile(95)}, 0.1, 20 * time.Second},
		"the strictest":                  {[]plan.Threshold{quantile(50), quantile(99), quantile(95)}, 1, 10 * time.Second},
		"the base line's p95":            {nil, 1, 2 * time.Second},
		"no quantile":                    {[]plan.Threshold{{Rule: metric.Rule{Metric: "errors", Aggregate: "rate"}}}, 1, 0},
		"the greatest of all is no such": {[]plan.Threshold{quantile(100)}, 1, 0},
		"an n that isn't known":          {[]plan.Threshold{quantile(95)}, 0, 0},
	} {
		p := &plan.Plan{Thresholds: c.thresholds,
			Load: []plan.Phase{{Kind: plan.Open, RateFrom: 50, RateTo: 50, Duration: time.Minute}}}
		if got := Enough(p, c.n); got.Round(time.Microsecond) != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := Enough(&plan.Plan{Load: []plan.Phase{{Kind: plan.Open, RateTo: 1}}}, 1e-12); got < 24*time.Hour {
		t.Errorf("next to no rate: %v", got)
	}
}

// Each trial sends other requests: it begins with the operation after the last of the trial before, including warm-ups.
func TestTrialsSendOtherRequests(t *testing.T) {
	p := &plan.Plan{First: 5, Operations: []plan.Operation{{Name: "a", Weight: 100}},
		Load:       []plan.Phase{{Kind: plan.Open, RateFrom: 100, RateTo: 100}},
		Thresholds: []plan.Threshold{{Rule: metric.Rule{Text: "errors < 1%"}}}}
	h, err := NewTargetSearch(p, options())
	if err != nil {
		t.Fatal(err)
	}
	h.Rest = func(context.Context, time.Duration) error { return nil }
	want, trials := p.First, 0
	h.Drive = func(_ context.Context, o Load) (*Outcome, error) {
		if trials++; o.Plan.First != want {
			t.Errorf("trial %d begins with request %d, want %d", trials, o.Plan.First, want)
		}
		n := uint64(o.PeakPerS)
		out := &Outcome{Run: &record.Run{Phases: []record.Phase{{WarmUp: true, Offered: 7}, {Offered: n}}}, Dir: o.Name,
			AnsweredInTime: min(n, 1900), Outstanding: make([]float64, 24)}
		out.Run.Verdict.Result = verdict.Pass
		out.Run.Total.Offered, out.Run.Total.OfferedPerS = n, float64(n)
		want += n + 7
		return out, nil
	}
	if _, err := h.Run(t.Context()); err != nil || trials < 5 || p.First != 5 {
		t.Errorf("%d trials, %v, the plan's own begins with %d", trials, err, p.First)
	}
}

// A trial in which almost nothing fell due is invalid, whether or not its thresholds pass.
func TestTrialWithoutItsLoadIsInvalid(t *testing.T) {
	for _, c := range []struct {
		offered uint64
		want    string
	}{{100, verdict.Pass}, {60, verdict.Pass}, {40, verdict.Invalid}, {0, verdict.Invalid}} {
		o := &Outcome{AnsweredInTime: c.offered, Run: &record.Run{Phases: []record.Phase{
			{Kind: "open", WarmUp: true, RateFrom: 50, RateTo: 50, ScheduleNs: 1e9},
			{Kind: "open", RateFrom: 50, RateTo: 50, ScheduleNs: 2e9},
			{Name: "after a recovery", Kind: "open", RateFrom: 50, RateTo: 50, ScheduleNs: 2e9, Offered: c.offered},
		}, Thresholds: []record.Threshold{{Pass: true}}}}
		o.Run.Verdict.Result = verdict.Pass
		o.Run.Total.Offered = c.offered
		if r := JudgeTrial(Trial{N: 1}, o, nil); r.Verdict != c.want {
			t.Errorf("%d of 100 arrivals: %s %q, want %s", c.offered, r.Verdict, r.Why, c.want)
		}
	}
}

// Trials are lengthened if the rate is low, but never beyond the limit that the user set.
func TestTrialsAreLengthenedForTheirQuantiles(t *testing.T) {
	p := &plan.Plan{
		Thresholds: []plan.Threshold{{Rule: metric.Rule{Metric: "response", Aggregate: "p", Quantile: 95}}},
		Load:       []plan.Phase{{Kind: plan.Open, RateFrom: 10, RateTo: 10, Duration: time.Minute}},
	}
	for _, c := range []struct{ trial, longest, want time.Duration }{
		{2 * time.Second, time.Minute, 10 * time.Second},
		{2 * time.Second, 5 * time.Second, 5 * time.Second},
		{2 * time.Second, 0, 2 * time.Second},
		{20 * time.Second, time.Minute, 20 * time.Second},
	} {
		h, err := NewTargetSearch(p, DefaultSearch())
		if err != nil {
			t.Fatal(err)
		}
		h.Trial, h.Longest, h.WarmUp = c.trial, c.longest, 0
		h.Drive = func(_ context.Context, o Load) (*Outcome, error) {
			if got := o.Plan.Load[0].Duration.Round(time.Microsecond); got != c.want {
				t.Errorf("%v, at most %v: %v, want %v", c.trial, c.longest, got, c.want)
			}
			return nil, context.Canceled
		}
		if _, err := h.Run(t.Context()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
