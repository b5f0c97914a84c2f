package series

import (
	"context"
	"errors"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/advise"
	"brunt/internal/run/program"
)

// Advise runs p once to collect its statements, and prints the database's proposals for them. If trial isn't nil, it
// first tests each proposal by runs with and without it, with a pause between them.
func (t *Series) Advise(ctx context.Context, p *plan.Plan, db inspect.Database, trial *advise.Trial,
	coolDown time.Duration, show func([]record.Proof) error) error {
	drive := func(ctx context.Context, o program.Load) (*program.Outcome, error) {
		t.Say("run %s", o.Name)
		return t.Drive(ctx, o)
	}
	seen, err := drive(ctx, program.Load{Name: "seen", Plan: p})
	if err == nil && seen.Run.Interrupted {
		err = context.Canceled
	}
	if err != nil {
		return err
	}
	list, err := advise.Proposals(ctx, t.Dir, db, seen.Run.Inspections)
	if err != nil {
		return err
	}
	if trial == nil {
		return show(Unproven(list))
	}
	trial.Say = func(text string) { t.Say("%s", text) }
	trial.Judged = func(x record.Proof) {
		t.Say("%s %s: %s", map[bool]string{true: "kept", false: "dropped"}[x.Kept], x.Name, x.Why)
	}
	trial.Into(t.Dir, program.Load{Plan: p}, func(ctx context.Context, o program.Load) (*program.Outcome, error) {
		if err := program.Sleep(ctx, coolDown); err != nil {
			return nil, err
		}
		return drive(ctx, o)
	})
	proofs, err := trial.Prove(ctx, list)
	return errors.Join(err, show(proofs))
}

// Unproven returns the proposals as proofs without measurements.
func Unproven(list []record.Proposal) (out []record.Proof) {
	for _, p := range list {
		out = append(out, record.Proof{Proposal: p})
	}
	return out
}
