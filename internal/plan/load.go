package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"brunt/internal/load/schedule"
)

// Load is a load that can replace that of a plan.
type Load struct {
	Mix    Mix
	Phases []Phase
}

// QueueLoad returns a closed load on all sessions that does each operation exactly Count times.
func QueueLoad() Load {
	return Load{ByCount, []Phase{{Name: "queue", Kind: Closed}}}
}

// RateLoad returns an open load at a constant rate.
func RateLoad(ratePerS float64, duration time.Duration) Load {
	return Load{ByWeight, []Phase{constant("constant", ratePerS, duration)}}
}

// SpikeLoad returns an open load that rises from basePerS to peakPerS operations a second, holds, and falls back to
// basePerS. Parts without a duration are left out.
func SpikeLoad(basePerS, peakPerS float64, rise, hold, fall time.Duration) Load {
	return Load{ByWeight, Spike("spike", basePerS, peakPerS, rise, hold, fall)}
}

// ClosedLoad returns a closed load with the given number of sessions (0: all) and duration.
func ClosedLoad(sessions int, duration time.Duration) Load {
	return Load{ByWeight, []Phase{{Name: "closed", Kind: Closed, Sessions: sessions, Duration: duration}}}
}

// Lasting sets how long p's load lasts to d, which must be above 0: the duration of its only phase besides warm-ups and
// pauses. A queue, and a plan without a load, get a closed load of that duration on all sessions instead. It returns an
// error for a load of several phases.
func Lasting(p *Plan, d time.Duration) error {
	if p.Mix == ByCount || len(p.Load) == 0 {
		return p.SetLoad(ClosedLoad(0, d))
	}
	var only []int
	for i := range p.Load {
		if ph := &p.Load[i]; !ph.WarmUp && ph.Kind != Pause {
			only = append(only, i)
		}
	}
	if len(only) != 1 {
		return fmt.Errorf("the load has %d phases with durations of their own; change them in the plan, or use brunt rate "+
			"for one phase at a constant rate", len(only))
	}
	p.Load = slices.Clone(p.Load)
	p.Load[only[0]].Duration, p.Load[only[0]].Operations = d, 0
	p.Scripts.unlimited()
	return nil
}

func constant(name string, ratePerS float64, duration time.Duration) Phase {
	return Phase{Name: name, Kind: Open, Duration: duration, RateFrom: ratePerS, RateTo: ratePerS}
}

// Spike returns the phases of a spike, whose names begin with name. Parts without a duration are left out.
func Spike(name string, basePerS, peakPerS float64, rise, hold, fall time.Duration) []Phase {
	all := []Phase{
		{Name: name + " rise", Kind: Open, Duration: rise, RateFrom: basePerS, RateTo: peakPerS},
		constant(name+" hold", peakPerS, hold),
		{Name: name + " fall", Kind: Open, Duration: fall, RateFrom: peakPerS, RateTo: basePerS},
	}
	var phases []Phase
	for _, ph := range all {
		if ph.Duration > 0 {
			phases = append(phases, ph)
		}
	}
	return phases
}

// MaxSteps limits the number of phases that a step load may have.
const MaxSteps = 10_000

// Steps returns n phases of equal length whose rates go from fromPerS to toPerS, inclusive, in equal steps. n must be
// from 1 to MaxSteps.
func Steps(name string, fromPerS, toPerS float64, n int, every time.Duration) []Phase {
	phases := make([]Phase, n)
	for i := range phases {
		rate := fromPerS
		if n > 1 {
			rate += (toPerS - fromPerS) * float64(i) / float64(n-1)
		}
		phases[i] = constant(fmt.Sprintf("%s %d", name, i+1), rate, every)
	}
	return phases
}

// WarmUp inserts a phase of length d before p's load. It has the initial rate of the load and is excluded from the
// result.
func WarmUp(p *Plan, d time.Duration) error {
	switch {
	case d <= 0:
		return errors.New("give a time above zero, such as 10s")
	case p.Mix == ByCount:
		return errors.New("a queue is worked off once, and a warm-up would take from it")
	case len(p.Load) == 0:
		return errors.New("there is no load to warm up for")
	}
	first := p.Load[0]
	warm := Phase{
		Name: "warm-up", Kind: first.Kind, Duration: d, RateFrom: first.RateFrom, RateTo: first.RateFrom,
		Arrivals: first.Arrivals, Sessions: first.Sessions, WarmUp: true,
	}
	if first.Adaptive != nil {
		return errors.New("the load begins with an adaptive phase, which leaves out by itself what comes before it settles")
	}
	if first.Kind == Open && first.RateFrom == 0 {
		return errors.New("the load begins at no operations a second")
	}
	p.Load = append([]Phase{warm}, p.Load...)
	return nil
}

// SetLoad replaces the load of p. If l chooses operations by weight and none has a weight, counts become weights. A
// queue needs operations with counts. A scale that the old load included no longer applies, and neither do limits of
// scripts on the number of operations.
func (p *Plan) SetLoad(l Load) error {
	var counts, weights bool
	for i := range p.Operations {
		counts = counts || p.Operations[i].Count > 0
		weights = weights || p.Operations[i].Weight > 0
	}
	if l.Mix == ByCount && !counts {
		return errors.New("no operation has a count, so there is no queue; give queries a count")
	}
	if l.Mix == ByWeight && !weights {
		for i := range p.Operations {
			p.Operations[i].Weight = float64(p.Operations[i].Count)
		}
	}
	p.Mix, p.Load, p.Scaled = l.Mix, l.Phases, 0
	p.Scripts.unlimited()
	return nil
}

// Scale multiplies all rates of the plan's load by n. A scale that was applied before, by the file or an earlier call,
// is replaced, not multiplied. n must be above 0.
func Scale(p *Plan, n float64) error {
	if !(n > 0) || math.IsInf(n, 0) {
		return fmt.Errorf("scale %v is not above 0; give a number such as 2", n)
	}
	factor := n
	if p.Scaled > 0 {
		factor = n / p.Scaled
	}
	p.Load = slices.Clone(p.Load)
	for i := range p.Load {
		p.Load[i].scaleTimes(factor)
		p.Load[i].RateFrom *= factor
		p.Load[i].RateTo *= factor
		if a := p.Load[i].Adaptive; a != nil {
			scaled := *a
			scaled.MinPerS, scaled.MaxPerS = a.MinPerS*factor, a.MaxPerS*factor
			p.Load[i].Adaptive = &scaled
		}
	}
	p.Scaled = n
	return nil
}

// scaleTimes brings listed arrivals closer together.
func (ph *Phase) scaleTimes(factor float64) {
	if ph.Times == nil {
		return
	}
	short := func(d time.Duration) time.Duration { return time.Duration(float64(d) / factor) }
	ph.Times, ph.Duration = slices.Clone(ph.Times), max(short(ph.Duration), short(ph.Times[len(ph.Times)-1])+1)
	for i := range ph.Times {
		ph.Times[i] = short(ph.Times[i])
	}
}

// Listed returns an open phase with the given arrivals, which must be ascending and before the phase's end.
func Listed(name string, times []time.Duration, duration time.Duration) Phase {
	rate := float64(len(times)) / duration.Seconds()
	return Phase{Name: name, Kind: Open, Duration: duration, RateFrom: rate, RateTo: rate, Times: times}
}

// Segment returns the section of the load's shape that an open phase is.
func (ph *Phase) Segment() (s schedule.Segment, e schedule.Exact) {
	s = schedule.Segment{DurationNs: int64(ph.Duration), RateFrom: ph.RateFrom, RateTo: ph.RateTo}
	if e.Whole = ph.Arrivals == "whole"; ph.Times != nil {
		e.TimesNs = make([]int64, len(ph.Times))
		for i, at := range ph.Times {
			e.TimesNs[i] = int64(at)
		}
	}
	return s, e
}

// Share turns p into the plan of worker k, from 0, of n that generate one load together. The worker gets its share of
// the sessions. Its thresholds and errors no longer end the load, because that is decided over all workers. Which
// operations the worker sends is decided by the engine.
func Share(p *Plan, k, n int) error {
	if err := p.shareable(n); err != nil {
		return err
	}
	p.Settings.SessionsOfAll = max(p.Settings.Sessions, 1)
	p.Settings.Sessions = share(p.Settings.SessionsOfAll, k, n)
	for before := range k {
		p.Settings.SessionsBefore += share(p.Settings.SessionsOfAll, before, n)
	}
	p.Load = SharePhases(p.Load, k, n)
	p.Thresholds = slices.Clone(p.Thresholds)
	for i := range p.Thresholds {
		p.Thresholds[i].AbortOnFail = false
	}
	p.Settings.ErrorThreshold = 0
	return nil
}

// SharePhases returns the phases of worker k, from 0, of n, with the worker's share of the sessions.
func SharePhases(load []Phase, k, n int) []Phase {
	load = slices.Clone(load)
	for i := range load {
		load[i].SessionsOfAll = load[i].Sessions
		load[i].Sessions = share(load[i].Sessions, k, n)
	}
	return load
}

func share(sessions, k, n int) int { return sessions/n + min(max(sessions%n-k, 0), 1) }

// shareable returns an error if n workers can't generate the load of p together.
func (p *Plan) shareable(n int) error {
	if all := max(p.Settings.Sessions, 1); all < n {
		if each := p.Settings.Pipeline; each > 1 {
			return fmt.Errorf("%d workers need at least %[1]d connections, and the load has %d, with up to %d requests in "+
				"flight on each; give more connections or use fewer workers", n, all, each)
		}
		return fmt.Errorf("%d workers need at least %[1]d sessions, and the load has %d; give more sessions or use fewer "+
			"workers", n, all)
	}
	if p.Verifies() && p.Verify.After == AfterEachFault {
		return errors.New("writes can't be read back after each fault, since workers don't know of faults; use after: run")
	}
	for i := range p.Load {
		ph := &p.Load[i]
		switch rate := max(ph.RateFrom, ph.RateTo); {
		case ph.Kind == Open && rate < float64(n):
			return fmt.Errorf("phase %q has %g operations a second, less than one for each of %d workers; use fewer workers",
				ph.Name, rate, n)
		case ph.Sessions > 0 && ph.Sessions < n:
			return fmt.Errorf("%d workers need at least %[1]d sessions, and phase %q has %d; give it more or use fewer workers",
				n, ph.Name, ph.Sessions)
		}
	}
	return nil
}

// OneSession returns a copy of p with one session in every phase, for the setup of what p needs.
func (p *Plan) OneSession() *Plan {
	one := *p
	one.Settings.Sessions = 1
	one.Load = slices.Clone(p.Load)
	for i := range one.Load {
		one.Load[i].Sessions = 0
	}
	return &one
}
