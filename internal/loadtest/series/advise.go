package series

import (
	"context"
	"errors"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/advise"
	"brunt/internal/plan"
	"brunt/internal/program"
	"brunt/internal/record"
)

// Advise runs p once to see its statements, and prints what the database proposes for them. If trial isn't nil, it
// first proves each proposal by runs with it and without it, with a pause between them.
func (t *Series) Advise(ctx context.Context, p *plan.Plan, db inspect.Database, trial *advise.Trial,
	coolDown time.Duration, show func([]record.Proof) error) error {
	conduct := func(ctx context.Context, o program.Order) (*program.Outcome, error) {
		t.Say("run %s", o.Name)
		return t.Conduct(ctx, o)
	}
	seen, err := conduct(ctx, program.Order{Name: "seen", Plan: p})
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
	trial.Told = func(text string) { t.Say("%s", text) }
	trial.Into(t.Dir, program.Order{Plan: p}, func(ctx context.Context, o program.Order) (*program.Outcome, error) {
		if err := program.Sleep(ctx, coolDown); err != nil {
			return nil, err
		}
		return conduct(ctx, o)
	})
	proofs, err := trial.Prove(ctx, list)
	return errors.Join(err, show(proofs))
}

// Unproven are proposals as proofs that are still to come.
func Unproven(list []record.Proposal) (out []record.Proof) {
	for _, p := range list {
		out = append(out, record.Proof{Proposal: p})
	}
	return out
}
