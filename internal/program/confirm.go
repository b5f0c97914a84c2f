package program

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"brunt/internal/plan"
	"brunt/internal/verdict"
)

// ConfirmOptions bound a confirmation. N is what the profile's rates are multiplied by.
type ConfirmOptions struct {
	N        float64 // the first load
	Min      float64 // the lowest load that is tried
	Width    float64 // the first step down, as a share
	Sessions int
	Purpose  string
	Fixed    bool // the load is held as it is asked for, and no lower one is tried
}

// invalidHolds is how many holds of the same load the generator may spoil before a lower one is tried.
const invalidHolds = 2

// Confirmation holds a load for its time and, if the target doesn't hold it, lower ones until one is held. It names the
// next hold from the results so far, and does nothing else. Each step down is twice as wide as the one before, up to a
// quarter, or goes to what the target can do where holds have shown that.
type Confirmation struct {
	o       ConfirmOptions
	results []Result
}

// NewConfirmation begins a confirmation.
func NewConfirmation(o ConfirmOptions) *Confirmation { return &Confirmation{o: o} }

// Take takes the result of the hold that Next named.
func (c *Confirmation) Take(r Result) { c.results = append(c.results, r) }

// Results are those of all holds in their order.
func (c *Confirmation) Results() []Result { return c.results }

// Next is the next hold, or false if a load was held or there is none left to try.
func (c *Confirmation) Next() (Trial, bool) {
	k := len(c.results)
	t := Trial{Number: k + 1, N: c.o.N, Sessions: c.o.Sessions, Purpose: c.o.Purpose}
	if k == 0 {
		return t, true
	}
	last := &c.results[k-1]
	if c.o.Fixed || last.Verdict == verdict.Pass {
		return t, false
	}
	t.Recover = true
	if t.N = last.N; last.Verdict == verdict.Invalid && c.invalid(last.N) < invalidHolds {
		return t, true
	}
	if last.N <= c.o.Min {
		return t, false
	}
	t.N = max(c.down(), c.o.Min)
	return t, true
}

// down is the next load below that of the last hold.
func (c *Confirmation) down() (n float64) {
	const widest = 1.25
	steps := 0.0
	for i := range c.results {
		r := &c.results[i]
		if i > 0 && r.N == c.results[i-1].N {
			continue // the hold before was spoiled
		}
		n = r.N / min(math.Pow(1+c.o.Width, math.Pow(2, steps)), widest)
		steps++
		if can := c.can(i); can > 0 && can < n {
			n, steps = can, 0
		}
	}
	return n
}

// can is the load that hold i shows that the target can do, 0 if it shows none: what it achieved where that was the
// same all the time, or as much as in the hold before, at another load.
func (c *Confirmation) can(i int) float64 {
	const alike = 1.1
	r := &c.results[i]
	if !r.saturated() {
		return 0
	}
	if r.collapsed() && (i == 0 || !(c.results[i-1].AchievedPerS < r.AchievedPerS*alike &&
		r.AchievedPerS < c.results[i-1].AchievedPerS*alike)) {
		return 0
	}
	return r.N * r.AchievedPerS / r.OfferedPerS
}

// invalid is how many holds of a load the generator spoiled.
func (c *Confirmation) invalid(n float64) (times int) {
	for i := range c.results {
		if r := &c.results[i]; r.N == n && r.Verdict == verdict.Invalid {
			times++
		}
	}
	return times
}

// TargetConfirmation is a confirmation on a real target.
type TargetConfirmation struct {
	Options ConfirmOptions
	// Load is the plan of a hold at N times the profile.
	Load    func(n float64) (*plan.Plan, error)
	Base    *Result // that holds are judged against where there are no thresholds; nil: they are
	Low     *Result // whose load the target is sent until it has recovered from a hold that failed; nil: nothing is
	Length  time.Duration
	Steady  bool // a hold over which response times grow fails
	Conduct RunFunc
	Told    func(Result) // told after each hold
}

// Run holds loads until one is held. When ctx ends, what is known so far is returned with its error.
func (h *TargetConfirmation) Run(ctx context.Context) (*Confirmation, error) {
	c := NewConfirmation(h.Options)
	conduct := Onward(h.Conduct)
	for {
		t, more := c.Next()
		if !more {
			return c, nil
		}
		p, err := h.Load(t.N)
		if err != nil {
			return c, err
		}
		name := "run"
		if t.Number > 1 {
			name = fmt.Sprintf("run-%d", t.Number)
		}
		order := Order{Name: name, Plan: p, PeakPerS: p.PeakPerS()}
		if t.Recover && h.Low != nil && h.Low.N < t.N {
			rate, err := ProfileRate(p)
			if err != nil {
				return c, err
			}
			order.Next = recovering(p.Load, h.Low, rate/t.N, h.Length/10)
		}
		o, err := conduct(ctx, order)
		if err != nil {
			return c, err
		}
		if o.Run.Interrupted {
			return c, context.Canceled
		}
		r := Judge(t, o, h.Base)
		if h.Steady {
			r.Steady(o)
		}
		r.Dir = filepath.Base(o.Dir)
		c.Take(r)
		if h.Told != nil {
			h.Told(r)
		}
	}
}
