package program

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
)

// ConfirmOptions limit a confirmation. N is the factor on the profile's rates.
type ConfirmOptions struct {
	N        float64 // the first load
	Min      float64 // the lowest load that is tried
	Width    float64 // the first step down, as a share
	Sessions int
	Purpose  string
	Fixed    bool // only the given load is held, and no lower one is tried
}

// invalidHolds is how many holds of the same load may be invalid before a lower one is tried.
const invalidHolds = 2

// Confirmation decides which loads to hold: the given one and, if the target doesn't hold it, lower ones until it holds
// one. Next computes the next hold from the results so far; Confirmation itself runs nothing. Each step down is twice
// as wide as the one before, up to a quarter, or goes to the load that the target achieved in earlier holds.
type Confirmation struct {
	o       ConfirmOptions
	results []Result
}

// NewConfirmation begins a confirmation.
func NewConfirmation(o ConfirmOptions) *Confirmation { return &Confirmation{o: o} }

// Take adds the result of the hold that Next returned.
func (c *Confirmation) Take(r Result) { c.results = append(c.results, r) }

// Results returns the results of all holds in order.
func (c *Confirmation) Results() []Result { return c.results }

// Next returns the next hold, or false if a load was held or no load is left to try.
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
	if t.N = last.N; last.Verdict == verdict.Invalid && invalid(c.results, last.N) < invalidHolds {
		return t, true
	}
	if last.N <= c.o.Min {
		return t, false
	}
	t.N = max(c.down(), c.o.Min)
	return t, true
}

// down returns the next load below that of the last hold.
func (c *Confirmation) down() (n float64) {
	const widest = 1.25
	steps := 0.0
	for i := range c.results {
		r := &c.results[i]
		if i > 0 && r.N == c.results[i-1].N {
			continue // the hold before was invalid
		}
		n = r.N / min(math.Pow(1+c.o.Width, math.Pow(2, steps)), widest)
		steps++
		if can := c.can(i); can > 0 && can < n {
			n, steps = can, 0
		}
	}
	return n
}

// can returns the load that the target can sustain according to hold i, or 0 if unknown. It is the achieved load if
// that was constant over the hold, or the same as in the hold before at another load.
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

// TargetConfirmation is a confirmation on a real target.
type TargetConfirmation struct {
	Options ConfirmOptions
	// Load returns the plan of a hold at n times the profile.
	Load   func(n float64) (*plan.Plan, error)
	Base   *Result // base line for holds without thresholds; nil if there are thresholds
	Low    *Result // its load is sent after a failed hold until the target has recovered; nil: none
	Length time.Duration
	Steady bool // fail a hold over which response times grow
	Drive  Driver
	Done   func(Result) // called after each hold
}

// Run holds loads until one is held. If ctx ends, it returns the results so far with ctx's error.
func (h *TargetConfirmation) Run(ctx context.Context) (*Confirmation, error) {
	c := NewConfirmation(h.Options)
	drive := Continuing(h.Drive)
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
		load := Load{Name: name, Plan: p, PeakPerS: p.PeakPerS()}
		if t.Recover && h.Low != nil && h.Low.N < t.N && !paced(p) {
			rate, err := ProfileRate(p)
			if err != nil {
				return c, err
			}
			load.Next = recovering(p.Load, h.Low, rate/t.N, h.Length/10)
		}
		o, err := drive(ctx, load)
		if err != nil {
			return c, err
		}
		if o.Run.Interrupted {
			return c, context.Canceled
		}
		r := JudgeTrial(t, o, h.Base)
		if h.Steady {
			r.RequireSteady(o)
		}
		r.Dir = filepath.Base(o.Dir)
		c.Take(r)
		if h.Done != nil {
			h.Done(r)
		}
	}
}
