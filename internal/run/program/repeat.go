package program

import (
	"context"
	"fmt"
	"time"

	"brunt/internal/plan"
)

// The names of the two sides of a series.
const (
	SideA = "A" // the base, or the only one
	SideB = "B" // the candidate
)

// Repetition is a series of equal runs of one plan, or of two plans in turn.
type Repetition struct {
	Plan     *plan.Plan // B if there is a base
	Base     *plan.Plan // A; nil: the plan alone is repeated, as A
	Times    int        // of each
	CoolDown time.Duration
	Drive    Driver
	Rest     Rest
	Planned  func(Turn)           // called before each run
	Done     func(Turn, *Outcome) // called after each run
}

// Turn is a run of a repetition.
type Turn struct {
	Number int    // from 1
	Of     int    // how many there will be
	Side   string // SideA or SideB
}

// Name returns the name of the turn's bundle in the series' folder.
func (t Turn) Name() string { return fmt.Sprintf("run-%02d-%s", t.Number, t.Side) }

// ABBA returns the order of runs for two sides, with the given number of runs each: A B, B A, A B, … In this order,
// steady changes over the series (a filling disk, a warming room) affect both sides alike.
func ABBA(times int) (sides []string) {
	for k := range times {
		if k%2 == 0 {
			sides = append(sides, SideA, SideB)
		} else {
			sides = append(sides, SideB, SideA)
		}
	}
	return sides
}

// Repeated is the result of a repetition: the runs of each side in order.
type Repeated struct{ A, B []*Outcome }

// Run executes the runs. If ctx ends, it returns the results so far with ctx's error.
func (p *Repetition) Run(ctx context.Context) (*Repeated, error) {
	sides := ABBA(p.Times)
	if p.Base == nil {
		sides = nil
		for range p.Times {
			sides = append(sides, SideA)
		}
	}
	done := &Repeated{}
	drive := Continuing(p.Drive)
	for k, side := range sides {
		turn := Turn{k + 1, len(sides), side}
		if k > 0 {
			if err := p.Rest(ctx, p.CoolDown); err != nil {
				return done, err
			}
		}
		if p.Planned != nil {
			p.Planned(turn)
		}
		of := p.Plan
		if side == SideA && p.Base != nil {
			of = p.Base
		}
		o, err := drive(ctx, Load{Name: turn.Name(), Plan: of})
		if err != nil {
			return done, fmt.Errorf("run %d of %d: %w", turn.Number, turn.Of, err)
		}
		if o.Run.Interrupted {
			return done, context.Canceled
		}
		if side == SideA {
			done.A = append(done.A, o)
		} else {
			done.B = append(done.B, o)
		}
		if p.Done != nil {
			p.Done(turn, o)
		}
	}
	return done, nil
}
