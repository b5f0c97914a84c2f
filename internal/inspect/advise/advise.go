// Package advise proves advice: it builds what a database's costs speak for, measures the load before
// and after, and takes away again what doesn't pay.
package advise

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/compare"
	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/result"
)

// Proof is a proposal and what came of it.
type Proof struct {
	inspect.Proposal
	Built      bool                `json:"built"`
	Kept       bool                `json:"kept"`
	Why        string              `json:"why"`
	Comparison *compare.Comparison `json:"-"` // of the runs without it and with it; nil if it couldn't be built or compared
}

// Runs are what measuring came to: several runs of one load, and what the database said of them.
type Runs struct {
	Results     []*result.Result
	Inspections []record.Inspection
}

// Trial proves a database's proposals one after the other.
type Trial struct {
	Database inspect.Database
	// Measure runs the load several times. name tells the runs of one stage from those of another.
	Measure func(ctx context.Context, name string) (*Runs, error)
	Told    func(text string) // what is being done
	Anyway  bool              // compare runs that shouldn't be compared: see compare.Options
}

// Prove measures the load, asks for proposals, and builds, measures and judges each. When something fails
// after an index was built, that index is dropped: only proven ones stay. The proofs so far are returned
// with every error.
func (t *Trial) Prove(ctx context.Context) ([]Proof, error) {
	base, err := t.Measure(ctx, "before")
	if err != nil {
		return nil, err
	}
	proposals, err := t.Database.Propose(ctx, base.Inspections)
	if err != nil {
		return nil, err
	}
	var proofs []Proof
	for k, p := range proposals {
		t.Told(fmt.Sprintf("building %d of %d: %s", k+1, len(proposals), p.DDL))
		proof := Proof{Proposal: p}
		if err := t.Database.Exec(ctx, p.DDL); err != nil {
			if ctx.Err() == nil {
				proof.Why = "it can't be built: " + err.Error()
			}
			// A build that fails, or is cut off, leaves an invalid index behind.
			if err := t.drop(ctx, &proof, err); err != nil {
				return append(proofs, proof), err
			}
			proofs = append(proofs, proof)
			continue
		}
		proof.Built = true
		with, err := t.Measure(ctx, fmt.Sprintf("with-%d", k+1))
		if err != nil {
			proof.Why = "it wasn't measured"
			return append(proofs, proof), errors.Join(err, t.drop(ctx, &proof, nil))
		}
		proof.judge(base.Results, with.Results, t.Anyway)
		if proof.Kept {
			base = with
		} else if err := t.drop(ctx, &proof, nil); err != nil {
			return append(proofs, proof), err
		}
		proofs = append(proofs, proof)
	}
	return proofs, nil
}

// drop takes an index away again, also when the user has ended it all. cause is why, if that is an error
// of the context.
func (t *Trial) drop(ctx context.Context, p *Proof, cause error) error {
	t.Told(p.Drop)
	if err := t.Database.Exec(context.WithoutCancel(ctx), p.Drop); err != nil {
		return errors.Join(fmt.Errorf("%s: %w; drop it by hand", p.Drop, err), ctx.Err())
	}
	if ctx.Err() != nil {
		return errors.Join(cause, ctx.Err())
	}
	return nil
}

// judge keeps an index if something is better with it for sure, and nothing worse.
func (p *Proof) judge(before, with []*result.Result, anyway bool) {
	c, err := compare.Runs(before, with, compare.Options{Anyway: anyway})
	if err != nil {
		p.Why = "the runs can't be compared: " + err.Error()
		return
	}
	p.Comparison = c
	best, better := -1, 0
	for i := range c.Rows {
		switch r := &c.Rows[i]; r.Verdict {
		case compare.Regression:
			p.Why = fmt.Sprintf("%s is worse by %.1f %%", nameOf(r), 100*r.Change.Value)
			return
		case compare.Improvement:
			better++
			if best < 0 || r.Change.Value < c.Rows[best].Change.Value {
				best = i
			}
		}
	}
	if better == 0 {
		p.Why = "nothing is better for sure"
		return
	}
	p.Kept = true
	r := &c.Rows[best]
	p.Why = fmt.Sprintf("%d figures are better, most of all %s: %.1f %%, between %.1f and %.1f %%", better, nameOf(r), 100*r.Change.Value, 100*r.Change.Low, 100*r.Change.High)
}

func nameOf(r *compare.Row) string {
	if r.Operation == "" {
		return r.Metric
	}
	return r.Metric + " of " + r.Operation
}
