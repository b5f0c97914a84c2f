package program

import (
	"fmt"
	"math"
	"slices"

	"brunt/internal/judge/verdict"
	"brunt/internal/render/message"
)

// SearchOptions limit a search. N is the factor on the profile's rates.
type SearchOptions struct {
	RatePerS    float64 `json:"profile_per_s"` // at N = 1
	Start       float64 `json:"start"`         // the first N
	Min         float64 `json:"min"`
	Max         float64 `json:"max"`
	Width       float64 `json:"width"`  // of the bracket, as a share of its lower end; 0.03
	Trials      int     `json:"trials"` // at most
	Sessions    int     `json:"sessions"`
	MaxSessions int     `json:"max_sessions"`
	// Relative means that there are no thresholds: the first trial is at Min, and others are judged against it.
	Relative bool `json:"relative,omitempty"`
}

// DefaultSearch returns the default options of a search.
func DefaultSearch() SearchOptions {
	return SearchOptions{Start: 1, Min: 0.1, Max: 1000, Width: 0.03, Trials: 14, Sessions: 8, MaxSessions: 256}
}

// Check returns an error for invalid options.
func (o *SearchOptions) Check() error {
	switch {
	case !(o.Min > 0) || !(o.Max > o.Min):
		return fmt.Errorf("the search goes from N %g to %g; give it a lowest N above 0 and a higher highest one",
			o.Min, o.Max)
	case o.Start < o.Min || o.Start > o.Max:
		return fmt.Errorf("the search starts at N %g; start between its bounds %g and %g", o.Start, o.Min, o.Max)
	case !(o.Width > 0) || o.Width > 1:
		return fmt.Errorf("a bracket %g wide makes no sense; use a share such as 0.03", o.Width)
	case o.Trials < 2:
		return fmt.Errorf("%d trials bracket nothing; allow 14, say", o.Trials)
	case o.Sessions < 1 || o.MaxSessions < o.Sessions:
		return fmt.Errorf("from %d to %d sessions: give at least 1, and at most what the target lets connect", o.Sessions,
			o.MaxSessions)
	}
	return nil
}

const (
	confirmations = 3 // trials that the lower end must pass
	refutations   = 2 // trials that the upper end must fail
	sharedPasses  = 1 // of the confirmations that may be at loads above the lower end, which is harder
	invalidTries  = 3 // invalid trials of the same load before it is given up
)

// Search finds the highest N that a target sustains. Next computes the next trial from the results so far; Search
// itself runs nothing. The load rises geometrically until a trial fails. The interval in between is then split at the
// load that the trials suggest, next to that load, or in the middle of the logarithm of the rate. Finally the lower end
// must pass three trials and the upper end fail two; a pass above the lower end and failures below the upper end count
// as well. A failure that may be due to chance is repeated at once, and a maximum that rests on such failures is tried
// above. Loads that both passed and failed stay inside the bracket and can't be its ends, so noise widens the bracket
// instead of moving it.
type Search struct {
	o       SearchOptions
	results []Result
}

// NewSearch begins a search.
func NewSearch(o SearchOptions) *Search { return &Search{o: o} }

// Take adds the result of the trial that Next returned.
func (s *Search) Take(r Result) {
	if s.elsewhere(&r) {
		r.Verdict, r.Unreached = verdict.Invalid, true
		r.Why = []message.Message{message.New("trial.few-sessions", message.Count("connected", r.Connected),
			message.Count("sessions", r.Sessions))}
	}
	r.TooFew = r.tooFewSessions(s.service(r.N), s.mostSessions()) || s.crowded(&r)
	s.results = append(s.results, r)
}

// elsewhere reports whether a trial failed for the first time because the target refused sessions that it had accepted
// before, or all but a few. Another load may use its connections for a time.
func (s *Search) elsewhere(r *Result) bool {
	if r.Verdict != verdict.Fail || r.Connected == 0 || r.Connected >= r.Sessions || s.crowded(r) &&
		r.Connected >= s.o.Sessions {
		return false
	}
	k := len(s.results)
	return k == 0 || !s.results[k-1].Unreached
}

// crowded reports whether a trial failed because the target refused sessions, with more sessions than in any trial
// before. Such a trial says nothing about the load.
func (s *Search) crowded(r *Result) bool {
	return r.Verdict == verdict.Fail && r.Connected > 0 && r.Connected < r.Sessions &&
		!slices.ContainsFunc(s.results, func(b Result) bool { return b.Sessions >= r.Sessions && !b.Unreached })
}

// mostSessions returns how many sessions a trial may have, limited by the options and by how many the target has
// accepted.
func (s *Search) mostSessions() int {
	most := s.o.MaxSessions
	for i := range s.results {
		if r := &s.results[i]; r.TooFew && r.Connected > 0 {
			most = min(most, r.Connected)
		}
	}
	return most
}

// Results returns the results of all trials in order.
func (s *Search) Results() []Result { return s.results }

// Options returns the options of the search.
func (s *Search) Options() SearchOptions { return s.o }

// Next returns the next trial, or false if the search is over: see Bracket.
func (s *Search) Next() (Trial, bool) {
	n, purpose, over := s.decide()
	if over != "" || len(s.results) >= s.o.Trials {
		return Trial{}, false
	}
	t := Trial{Number: len(s.results) + 1, N: n, Purpose: purpose, Sessions: s.sessions(n)}
	if k := len(s.results); k > 0 {
		t.Recover = s.results[k-1].Verdict != verdict.Pass
	}
	return t, true
}

// decide returns the next N and its purpose, or how the search ended.
func (s *Search) decide() (n float64, purpose, over string) {
	if r := s.again(); r != nil {
		return r.N, r.Purpose, ""
	}
	if s.o.Relative && len(s.results) == 0 {
		return s.o.Min, BaseLine, ""
	}
	z := zoneOf(s.points())
	if n := s.unconvincing(&z); n > 0 {
		return n, Refute, ""
	}
	switch {
	case z.low == nil && z.high == nil && z.passesAbove > z.failsBelow && z.greyHigh < s.o.Max:
		return min(z.greyHigh*s.o.factor(), s.o.Max), Rise, ""
	case z.low == nil && z.high == nil && z.passesAbove < z.failsBelow && z.greyLow > s.o.Min:
		return max(z.greyLow/s.o.factor(), s.o.Min), Fall, ""
	case z.low == nil && z.high == nil:
		return s.o.Start, Rise, ""
	case z.high == nil:
		return s.rise(&z)
	case z.low == nil:
		return s.fall(&z)
	case z.high.n/z.low.n > 1+s.o.Width*(1+1e-9) && !z.hopeless(s.o.Width):
		n, purpose = s.split(&z)
		return n, purpose, ""
	case z.low.passes == 1:
		return z.low.n, Confirm, ""
	case !z.refuted():
		return z.high.n, Refute, ""
	case !z.confirmed():
		return z.low.n, Confirm, ""
	case z.high.generator:
		return 0, "", GeneratorLimit
	}
	if n := s.doubt(&z); n > 0 {
		return n, Doubt, ""
	}
	return 0, "", Found
}

// rise returns the next load above those that passed, while none has failed.
func (s *Search) rise(z *zone) (n float64, purpose, over string) {
	switch {
	case z.greyHigh > 0:
		return min(z.greyHigh*math.Sqrt(1+s.o.Width), s.o.Max), Margin, ""
	case z.low.n >= s.o.Max:
		return 0, "", AtHighest
	}
	return min(max(z.low.n*s.o.factor(), s.o.Start), s.o.Max), Rise, ""
}

// factor returns the ratio of a rising trial's load to the one before. It is at least 2, and such that repeated halving
// of the interval ends at the width.
func (o *SearchOptions) factor() float64 {
	halvings := math.Ceil(math.Log2(math.Log(2) / math.Log1p(o.Width)))
	return math.Pow(1+o.Width, math.Pow(2, halvings))
}

// fall returns the next load below those that failed, while none has passed.
func (s *Search) fall(z *zone) (n float64, purpose, over string) {
	switch {
	case z.greyLow > 0:
		return max(z.greyLow/math.Sqrt(1+s.o.Width), s.o.Min), Margin, ""
	case z.high.n > s.o.Min:
	case z.high.fails < refutations && !z.high.generator:
		return z.high.n, Refute, ""
	case z.high.generator:
		return 0, "", GeneratorLimit
	default:
		return 0, "", AtLowest
	}
	n = z.high.n / s.o.factor()
	if r := s.last(z.high.n, verdict.Fail); r != nil && r.saturated() {
		n = min(n*math.Sqrt(s.o.factor()), r.N*r.AchievedPerS/r.OfferedPerS)
	}
	return max(n, s.o.Min), Fall, ""
}

// again returns the last trial if it must be repeated, because it was invalid or had too few sessions.
func (s *Search) again() *Result {
	if len(s.results) == 0 {
		return nil
	}
	r := &s.results[len(s.results)-1]
	if r.TooFew || r.Unreached {
		return r
	}
	if r.Verdict == verdict.Invalid && invalid(s.results, r.N) < invalidTries {
		return r
	}
	return nil
}

// invalid returns how many trials of a load were invalid.
func invalid(all []Result, n float64) (times int) {
	for i := range all {
		if r := &all[i]; r.N == n && r.Verdict == verdict.Invalid && !r.Unreached {
			times++
		}
	}
	return times
}

// service returns the mean service time in the passing trial at the highest N below n, ns, or 0 if there is none.
func (s *Search) service(n float64) (ns float64) {
	best := 0.0
	for i := range s.results {
		if r := &s.results[i]; r.Verdict == verdict.Pass && r.N <= n && r.N >= best {
			best, ns = r.N, r.ServiceNs
		}
	}
	return ns
}

// sessions returns the number of sessions for a trial at n: four times the number by Little's law according to the
// trial before, so that the target may become four times slower before sessions limit the load.
func (s *Search) sessions(n float64) int {
	const room, spare = 4, 4
	need := float64(s.o.Sessions)
	if service := s.service(n); service > 0 {
		need = max(need, room*n*s.o.RatePerS*service/1e9+spare)
	}
	if k := len(s.results); k > 0 {
		if r := &s.results[k-1]; r.N == n && r.TooFew {
			need = max(need, room*float64(r.Sessions))
		}
	}
	return int(min(math.Ceil(need), float64(s.mostSessions())))
}

// last returns the last trial at n with a verdict, or nil if there is none.
func (s *Search) last(n float64, result string) *Result {
	for i := len(s.results) - 1; i >= 0; i-- {
		if r := &s.results[i]; r.N == n && r.Verdict == result {
			return r
		}
	}
	return nil
}

// split returns a load between the ends of a zone that is too wide.
func (s *Search) split(z *zone) (n float64, purpose string) {
	if z.greyLow > 0 {
		// Just outside the loads that both passed and failed, so that both ends are within the width.
		margin := max(math.Sqrt((1+s.o.Width)/(z.greyHigh/z.greyLow)), 1+s.o.Width/8)
		if z.greyLow/z.low.n > margin*(1+1e-9) {
			return z.greyLow / margin, Margin
		}
		return z.greyHigh * margin, Margin
	}
	low, high := z.low.n, z.high.n
	steps := s.stepped()
	if n := s.pointed(low, high, steps); n > 0 {
		return n, Estimate
	}
	if n := s.near(low, high, steps); n > 0 {
		return n, Near
	}
	return math.Sqrt(low * high), Bisect
}

// pointed returns the load at which an estimate is tried: half a width below it, so that one width above fails. It
// returns 0 if there is no estimate, or if the last one has yet to be tried from its other side.
func (s *Search) pointed(low, high float64, steps int) float64 {
	last := &s.results[len(s.results)-1]
	if steps == 1 && last.Verdict == verdict.Pass || steps > 0 && !s.cutWell(low, high) {
		return 0
	}
	e := s.estimate(low, high)
	width := 1 + s.o.Width
	switch n := min(e/math.Sqrt(width), high/width); {
	case e == 0:
	case n > low*(1+1e-3):
		return n
	case low*width < high:
		return low * width
	}
	return 0
}

// near returns a load near an estimate that was too low or too high: one width from it, then two, four, and so on. It
// returns 0 if halving the interval goes as far.
func (s *Search) near(low, high float64, steps int) float64 {
	if steps == 0 {
		return 0
	}
	width, half := 1+s.o.Width, math.Sqrt(low*high)
	if bad := s.last(high, verdict.Fail); steps > 1 && bad != nil && bad.collapsed() {
		return 0 // the rate before its collapse is only a rough estimate
	}
	step := math.Pow(width, math.Pow(2, float64(steps-1)))
	if s.results[len(s.results)-1].Verdict == verdict.Fail {
		if high/step > half {
			return high / step
		}
		return 0
	}
	switch {
	case low*step < half:
		return low * step
	case steps == 1 && low*width < high:
		return min(low*width, high/math.Sqrt(width))
	}
	return 0
}

// stepped returns how many trials ago the last estimate was tried (1 for the last trial), if all trials since then were
// next to it and had the same result; otherwise 0.
func (s *Search) stepped() int {
	k := len(s.results) - 1
	for i := k; i >= 0 && s.results[i].Verdict == s.results[k].Verdict; i-- {
		switch s.results[i].Purpose {
		case Estimate:
			return k - i + 1
		case Near:
		default:
			return 0
		}
	}
	return 0
}

// estimate returns the capacity that the trials suggest between low, which passed, and high, which failed, or 0 if
// there is no estimate. A saturated target achieved what it can sustain, except for the share that a passing trial
// needs. A target that collapsed achieved about that before. Response times of queues grow as 1/(capacity − rate), so
// their inverse, relative to the limit, falls linearly, and is 1 at the capacity.
func (s *Search) estimate(low, high float64) float64 {
	bad, good := s.last(high, verdict.Fail), s.last(low, verdict.Pass)
	if bad == nil || good == nil {
		return 0
	}
	var e float64
	switch {
	case bad.saturated() && bad.collapsed():
		if bad.PeakPerS < bad.OfferedPerS/2 {
			return 0 // so far above its capacity that it collapsed at once
		}
		e = bad.N * bad.PeakPerS / bad.OfferedPerS
	case bad.saturated():
		e = bad.N * bad.AchievedPerS / (leastAchieved * bad.OfferedPerS)
	case bad.Strain > 1 && bad.Strain < 10 && good.Strain > 0 && good.Strain <= 1:
		const most = 4 // far from the capacity, times don't follow this rule
		a, b := min(1/float64(good.Strain), most), 1/float64(bad.Strain)
		e = low + (high-low)*(a-1)/(a-b)
	}
	if e <= low || e >= high {
		return 0
	}
	return e
}

// cutWell reports whether the last trial left at most 60 % of the interval that it split.
func (s *Search) cutWell(low, high float64) bool {
	before := zoneOf((&Search{o: s.o, results: s.results[:len(s.results)-1]}).points())
	if before.low == nil || before.high == nil {
		return true
	}
	return math.Log(high/low) <= 0.6*math.Log(before.high.n/before.low.n)
}
