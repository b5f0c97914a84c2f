// Package advise proves advice: it builds what a database's costs speak for, measures the load before
// and after, and takes away again what doesn't pay.
package advise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"brunt/internal/compare"
	"brunt/internal/inspect"
	"brunt/internal/result"
)

// Proof is a proposal and what came of it.
type Proof struct {
	inspect.Proposal
	Built  bool     `json:"built"`
	Kept   bool     `json:"kept"`
	Why    string   `json:"why"`
	Order  string   `json:"order,omitempty"`  // of the runs without it (A) and with it (B), such as "ABBA"
	Change *Change  `json:"change,omitempty"` // of what decides; nil if the runs couldn't be compared
	Worse  []string `json:"worse,omitempty"`  // operations that are slower for sure
}

// Change is what an index changes, as a share, with its 95 % interval over the runs.
type Change struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

const (
	// Fewest is how many runs on each side an interval needs.
	Fewest = 3
	// decides is the figure that an index must lower: the mean response time of all operations, in which each
	// counts as often as it is done.
	decides = "response.avg"
	// smallB is up to which size an index is built again and again, so that runs with and without it alternate.
	smallB = 256 << 20
)

// Trial proves a database's proposals one after the other.
type Trial struct {
	Database inspect.Database
	// Run carries out the load once, always at the same rates.
	Run    func(ctx context.Context, name string) (*result.Result, error)
	Times  int               // runs on each side, at least Fewest
	Told   func(text string) // what is being done
	Anyway bool              // compare runs that shouldn't be compared: see compare.Options
}

// Prove builds, measures and judges each proposal, those that were kept beside it. Runs with the index and
// without it alternate (A B B A …) if it is small; otherwise it is built once, after the runs without it.
// It stays if the mean response time is lower for sure. When something fails, the index is dropped: only
// proven ones stay. The proofs so far are returned with every error. An index of a proposal's name that is
// there already is taken for one that an earlier attempt left.
func (t *Trial) Prove(ctx context.Context, proposals []inspect.Proposal) ([]Proof, error) {
	var proofs []Proof
	for k := range proposals {
		p := &attempt{trial: t, proof: Proof{Proposal: proposals[k]}, number: k + 1}
		err := p.measure(ctx)
		if err == nil && p.proof.Why == "" {
			p.judge()
		}
		if err == nil && p.proof.Kept {
			err = p.with(ctx, true)
		}
		if err != nil || !p.proof.Kept {
			p.proof.Kept = false
			// What isn't proven goes, also when the user has ended it all, and when a build left an invalid index.
			err = errors.Join(err, p.with(context.WithoutCancel(ctx), false))
		}
		proofs = append(proofs, p.proof)
		if err != nil {
			return proofs, err
		}
	}
	return proofs, nil
}

// attempt is a proposal on trial.
type attempt struct {
	trial         *Trial
	proof         Proof
	number        int
	there         *bool // whether the index is there; nil: not known
	base, indexed []*result.Result
}

// order is the sides of the runs.
func (a *attempt) order() []bool {
	n := a.trial.Times
	order := make([]bool, 2*n)
	for i := range order {
		if a.proof.SizeB > smallB {
			order[i] = i >= n
		} else {
			order[i] = i%4 == 1 || i%4 == 2
		}
	}
	return order
}

// measure runs the load on both sides.
func (a *attempt) measure(ctx context.Context) error {
	for i, with := range a.order() {
		if err := a.with(ctx, with); err != nil {
			if ctx.Err() == nil && with {
				a.proof.Why = "it can't be built: " + err.Error()
				return nil
			}
			return err
		}
		side := map[bool]string{false: "A", true: "B"}[with]
		a.proof.Order += side
		r, err := a.trial.Run(ctx, fmt.Sprintf("index-%d-%02d-%s", a.number, i+1, side))
		if err != nil {
			a.proof.Why = "it wasn't measured"
			return err
		}
		if with {
			a.indexed = append(a.indexed, r)
		} else {
			a.base = append(a.base, r)
		}
	}
	return nil
}

// with builds the index or drops it, unless it is or isn't there already.
func (a *attempt) with(ctx context.Context, wanted bool) error {
	if a.there != nil && *a.there == wanted {
		return nil
	}
	script := a.proof.Drop
	if wanted {
		script = a.proof.DDL
	}
	a.trial.Told(script)
	a.there = nil
	if err := a.trial.Database.Exec(ctx, script); err != nil {
		if !wanted {
			return fmt.Errorf("%s: %w; drop it by hand", script, err)
		}
		return err
	}
	a.there, a.proof.Built = &wanted, a.proof.Built || wanted
	return nil
}

// judge keeps an index if the mean response time is lower with it for sure.
func (a *attempt) judge() {
	p := &a.proof
	c, err := compare.Runs(a.base, a.indexed, compare.Options{Anyway: a.trial.Anyway})
	if err != nil {
		p.Why = "the runs can't be compared: " + err.Error()
		return
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		switch {
		case r.Metric != decides:
		case r.Operation == "":
			p.Change = &Change{r.Metric, r.Change.Value, r.Change.Low, r.Change.High}
		case r.Verdict == compare.Regression:
			p.Worse = append(p.Worse, r.Operation)
		}
	}
	ch := p.Change
	if ch == nil || math.IsNaN(ch.High) {
		p.Change, p.Why = nil, "the runs have no mean response time to compare"
		return
	}
	figures := fmt.Sprintf("the mean response time changes by %.1f %%, between %.1f and %.1f %% (%s)", 100*ch.Value, 100*ch.Low, 100*ch.High, p.Order)
	switch p.Kept = ch.High < 0; {
	case p.Kept:
		p.Why = figures
	case ch.Low > 0:
		p.Why = "it is worse with it: " + figures
	default:
		p.Why = "nothing is better for sure: " + figures
	}
	if len(p.Worse) > 0 {
		p.Why += "; slower: " + strings.Join(p.Worse, ", ")
	}
}
