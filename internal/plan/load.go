package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Load is a load that can take the place of a plan's own.
type Load struct {
	Mix    Mix
	Phases []Phase
}

// QueueLoad works off the queue of all operations × Count once, closed, on all sessions.
func QueueLoad() Load {
	return Load{ByCount, []Phase{{Name: "queue", Kind: Closed}}}
}

// RateLoad is an open load of so many operations a second.
func RateLoad(ratePerS float64, duration time.Duration) Load {
	return Load{ByWeight, []Phase{constant("constant", ratePerS, duration)}}
}

// SpikeLoad is an open load that rises from base to peak operations a second, holds, and falls
// back to base. Parts without a duration are left out.
func SpikeLoad(basePerS, peakPerS float64, rise, hold, fall time.Duration) Load {
	return Load{ByWeight, Spike("spike", basePerS, peakPerS, rise, hold, fall)}
}

// ClosedLoad lets so many sessions (0: all) work for a time.
func ClosedLoad(sessions int, duration time.Duration) Load {
	return Load{ByWeight, []Phase{{Name: "closed", Kind: Closed, Sessions: sessions, Duration: duration}}}
}

func constant(name string, ratePerS float64, duration time.Duration) Phase {
	return Phase{Name: name, Kind: Open, Duration: duration, RateFrom: ratePerS, RateTo: ratePerS}
}

// Spike returns the phases of a spike, named after it. Parts without a duration are left out.
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

// MaxSteps bounds how many phases one step load may become.
const MaxSteps = 10_000

// Steps returns n phases of equal length whose rates go from one to the other in equal steps,
// both included. n must be within 1 and MaxSteps.
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

// WarmUp puts a phase of length d before p's load: as the load begins, but kept out of the result.
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

// SetLoad replaces the load of p. Operations that only have counts get them as weights; a queue
// needs operations with counts. A scale that the old load included is forgotten.
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
	return nil
}

// Scale makes all rates of p's load n times what the plan says. A scale already applied (from
// the file, or by an earlier call) is replaced, not multiplied. n must be above 0.
func Scale(p *Plan, n float64) error {
	if !(n > 0) || math.IsInf(n, 0) {
		return fmt.Errorf("scale %v is not above 0; give a number such as 2", n)
	}
	factor := n
	if p.Scaled > 0 {
		factor = n / p.Scaled
	}
	for i := range p.Load {
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

// Share makes p the plan of worker k, from 0, of n that carry out one load together: its share of the sessions, and no
// rule that ends the load, which is decided over all workers. Which operations it sends is the engine's to know.
func Share(p *Plan, k, n int) error {
	if err := p.shareable(n); err != nil {
		return err
	}
	p.Settings.Sessions = share(max(p.Settings.Sessions, 1), k, n)
	p.Load = SharePhases(p.Load, k, n)
	p.Thresholds = slices.Clone(p.Thresholds)
	for i := range p.Thresholds {
		p.Thresholds[i].AbortOnFail = false
	}
	p.Settings.ErrorThreshold = 0
	return nil
}

// SharePhases returns the phases of worker k, from 0, of n: its share of the sessions.
func SharePhases(load []Phase, k, n int) []Phase {
	load = slices.Clone(load)
	for i := range load {
		load[i].Sessions = share(load[i].Sessions, k, n)
	}
	return load
}

func share(sessions, k, n int) int { return sessions/n + min(max(sessions%n-k, 0), 1) }

// shareable says why n workers can't carry out p together, if they can't.
func (p *Plan) shareable(n int) error {
	if all := max(p.Settings.Sessions, 1); all < n {
		return fmt.Errorf("%d sessions can't be shared by %d workers; give at least as many sessions as workers", all, n)
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
			return fmt.Errorf("phase %q has %d sessions, which can't be shared by %d workers", ph.Name, ph.Sessions, n)
		}
	}
	return nil
}

// OneSession returns a copy of p with one session in every phase, to set up what p needs.
func (p *Plan) OneSession() *Plan {
	one := *p
	one.Settings.Sessions = 1
	one.Load = slices.Clone(p.Load)
	for i := range one.Load {
		one.Load[i].Sessions = 0
	}
	return &one
}
