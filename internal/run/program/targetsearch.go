package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/engine"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/render/message"
)

// TargetSearch is a search on a real target.
type TargetSearch struct {
	Plan    *plan.Plan
	Options SearchOptions
	Trial   time.Duration // of measured load
	// Longest is the length up to which a trial is extended if Trial has too few operations to judge it; 0 means never.
	Longest time.Duration
	WarmUp  time.Duration // before the measured load, at the same rate
	Pause   time.Duration // between trials
	Prefix  string        // of the names of the trials' bundles
	Drive   Driver
	Rest    Rest
	Planned func(Trial)  // called before each trial
	Done    func(Result) // called after each trial
}

// NewTargetSearch returns a search of p within o. The rates, the sessions and whether there are thresholds are taken
// from p.
func NewTargetSearch(p *plan.Plan, o SearchOptions) (*TargetSearch, error) {
	rate, err := ProfileRate(p)
	if err != nil {
		return nil, err
	}
	o.RatePerS, o.Relative = rate, len(p.Thresholds) == 0
	if o.Sessions = min(max(o.Sessions, p.Settings.Sessions), o.MaxSessions); paced(p) {
		o.Sessions, o.MaxSessions = p.Settings.Sessions, p.Settings.Sessions
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	return &TargetSearch{Plan: p, Options: o, Trial: 30 * time.Second, WarmUp: 5 * time.Second, Pause: time.Second,
		Rest: Sleep}, nil
}

// Run searches until the maximum is bracketed. If ctx ends, it returns the results so far with ctx's error.
func (h *TargetSearch) Run(ctx context.Context) (*Search, error) {
	s := NewSearch(h.Options)
	drive := Continuing(h.Drive)
	for {
		t, more := s.Next()
		if !more {
			return s, nil
		}
		if h.Planned != nil {
			h.Planned(t)
		}
		r, err := h.try(ctx, s, t, drive)
		if err != nil {
			if r, err = s.unreached(t, err); err != nil {
				return s, err
			}
		}
		s.Take(*r)
		if h.Done != nil {
			h.Done(s.results[len(s.results)-1])
		}
		pause := h.Pause
		if s.results[len(s.results)-1].Unreached {
			pause = max(pause, untilConnected)
		}
		if err := h.Rest(ctx, pause); err != nil {
			return s, err
		}
	}
}

const (
	// unreachedTries is how many trials in a row may fail to connect before the search ends, and untilConnected is the
	// pause after each.
	unreachedTries = 4
	untilConnected = 5 * time.Second
)

// unreached returns the result of a trial that couldn't connect. It returns the trial's error if that has another
// cause, if no trial has ever connected, or if too many trials in a row failed.
func (s *Search) unreached(t Trial, err error) (*Result, error) {
	var u interface{ Unreachable() bool }
	if !errors.As(err, &u) || !slices.ContainsFunc(s.results, func(r Result) bool { return !r.Unreached }) {
		return nil, err
	}
	if k := len(s.results) - unreachedTries + 1; k >= 0 &&
		!slices.ContainsFunc(s.results[k:], func(r Result) bool { return !r.Unreached }) {
		return nil, fmt.Errorf("nothing could connect in %d trials in turn, though it had before: %w", unreachedTries, err)
	}
	return &Result{Trial: t, Verdict: verdict.Invalid, Unreached: true,
		Why: []message.Message{message.New("trial.no-connection")}}, nil
}

// try executes one trial.
func (h *TargetSearch) try(ctx context.Context, s *Search, t Trial, drive Driver) (*Result, error) {
	length := max(h.Trial, min(h.Longest, Enough(h.Plan, t.N)))
	if t.Purpose == BaseLine {
		length = max(length, time.Duration(surely*float64(Enough(h.Plan, t.N)))) // other trials are judged against it
	}
	p, err := AtScale(h.Plan, t.N, h.WarmUp, length)
	if err != nil {
		return nil, err
	}
	SetSessions(p, t.Sessions)
	// Arrivals that an overloaded target leaves unsent are not sent late, which could take as long as the operation
	// timeout.
	p.Settings.EndOnTime = s.last(t.N, verdict.Pass) == nil
	if p.Settings.LatePolicy == "all" {
		p.Settings.LatePolicy = "queue"
	}
	p.Settings.Interval = intervalOf(length, p.Settings.Interval)
	next := engine.Next(nil)
	if low := s.lowest(); t.Recover && low != nil && !paced(p) {
		next = recovering(p.Load, low, h.Options.RatePerS, h.Trial/10)
	}
	o, err := drive(ctx, Load{Name: fmt.Sprintf("%strial-%02d", h.Prefix, t.Number), Plan: p, Next: next,
		PeakPerS: p.PeakPerS()})
	if err != nil {
		return nil, fmt.Errorf("trial %d at N %.4g: %w", t.Number, t.N, err)
	}
	if o.Run.Interrupted {
		return nil, context.Canceled
	}
	r := JudgeTrial(t, o, s.base())
	r.Dir = filepath.Base(o.Dir)
	return &r, nil
}

// intervalOf returns the interval of a trial's record, which is short enough to show the growth of the backlog.
func intervalOf(trial, usual time.Duration) time.Duration {
	const slices, shortest = 2 * 12, 10 * time.Millisecond
	if usual <= 0 {
		usual = time.Second
	}
	return max(min(usual, trial/slices), shortest)
}

// surely is the factor by which more arrivals than needed are requested, so that random arrivals are enough.
const surely = 1.3

// base returns the trial against which others are judged, or nil if there are thresholds or it has not run yet.
func (s *Search) base() *Result {
	if !s.o.Relative {
		return nil
	}
	return baseLine(s.results)
}

// baseLine returns the base line among trials, or nil if none passed as base line.
func baseLine(all []Result) *Result {
	k := slices.IndexFunc(all, func(r Result) bool { return r.Purpose == BaseLine && r.Verdict == verdict.Pass })
	if k < 0 {
		return nil
	}
	return &all[k]
}

// BaseLine returns the trial against which others were judged, or nil if they were judged by thresholds.
func (s *SearchLog) BaseLine() *Result {
	if !s.Options.Relative {
		return nil
	}
	return baseLine(s.Trials)
}

// lowest returns the trial at the lowest load that passed, or nil if none did.
func (s *Search) lowest() *Result { return lowest(s.results) }

// Lowest returns the trial at the lowest load that passed, or nil if none did.
func (s *SearchLog) Lowest() *Result { return lowest(s.Trials) }

func lowest(all []Result) (low *Result) {
	for i := range all {
		if r := &all[i]; r.Verdict == verdict.Pass && (low == nil || r.N < low.N) {
			low = r
		}
	}
	return low
}

const (
	// recoveries is how many phases at the lowest passing load the target has to recover. recovered is the largest
	// ratio of its median to that of the passing trial at which it counts as recovered.
	recoveries  = 10
	recovered   = 2
	recoveredNs = 1e6
	shortest    = 200 * time.Millisecond
)

// recovering returns the phases of a load after a failed trial. First come phases of the given length at the load of
// low, ratePerS times its N, until response times are what they were in that trial; then follow the phases of load. The
// first phases are warm-up: they are recorded, but aren't part of the trial.
func recovering(load []plan.Phase, low *Result, ratePerS float64, length time.Duration) engine.Next {
	n := 0
	return func(sofar *measure.Tally) []plan.Phase {
		if load == nil {
			return nil
		}
		if n > 0 && (n == recoveries || backTo(low, sofar.Phase(recovery(n)))) {
			out := load
			load = nil
			return out
		}
		n++
		rate := low.N * ratePerS
		return []plan.Phase{{
			Name: recovery(n), Kind: plan.Open, Duration: max(length, shortest), RateFrom: rate, RateTo: rate, WarmUp: true,
		}}
	}
}

func recovery(n int) string { return fmt.Sprintf("recovery %d", n) }

// backTo reports whether a phase's response times are about those of a trial.
func backTo(low *Result, p *measure.PhaseAccount) bool {
	if p == nil {
		return false
	}
	all := p.All()
	limit := max(recovered*float64(low.P50Ns), float64(low.P50Ns)+recoveredNs)
	return all.OK() > 0 && float64(all.Answers().Quantile(0.5)) <= limit
}
