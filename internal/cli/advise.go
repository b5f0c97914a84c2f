package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/inspect"
	"brunt/internal/inspect/advise"
	"brunt/internal/inspect/servers"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/report/cell"
	"brunt/internal/result"
	"brunt/internal/series"
	"brunt/internal/units"
)

// adviseFlags are the flags of brunt advise.
type adviseFlags struct {
	runFlags
	apply    bool
	build    bool
	anyway   bool
	times    int
	coolDown time.Duration
}

// leastTimes is how many runs a comparison needs on each side.
const leastTimes = 3

func newAdvise(s *streams) *cobra.Command {
	f := &adviseFlags{}
	cmd := &cobra.Command{
		Use:   "advise --inspect pg=DSN [PLAN | BUNDLE]",
		Short: "Propose indexes, and with --apply build them and prove by measuring that they pay",
		Long: `Propose indexes for what a database was asked: by the load of a PLAN, which is run for it, by the run
of a BUNDLE that was inspected, or, without either, since the server's statistics were reset. Each is
tried with HypoPG, or with --build by building it in a transaction that is rolled back.

With --apply, which needs a PLAN, the load is measured, the index built (CONCURRENTLY), the load
measured again at the same rates, and the index dropped unless it pays: something must be better for
sure, and nothing worse.`,
		Example: "  brunt advise --inspect pg=postgres://me@127.0.0.1:5432/shop results/shop-20261121T101500Z\n" +
			"  brunt advise --inspect pg=postgres://me@127.0.0.1:5432/shop examples/shop.yml --apply --times 5",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.advise(s, args) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&f.apply, "apply", false, "build what is proposed, measure, and keep what pays")
	cmd.Flags().BoolVar(&f.build, "build", false, "without HypoPG, try indexes by building them in transactions that are rolled back (nobody can write to their tables meanwhile)")
	cmd.Flags().BoolVar(&f.anyway, "anyway", false, "with --apply: judge by runs that the generator spoiled, too")
	cmd.Flags().IntVar(&f.times, "times", 5, "runs before and after each index")
	cmd.Flags().DurationVar(&f.coolDown, "cool-down", 5*time.Second, "between runs")
	f.bind(s, cmd)
	return cmd
}

func (f *adviseFlags) advise(s *streams, args []string) error {
	if err := f.checkSeries(); err != nil {
		return err
	}
	if err := f.outputFlags.check(); err != nil {
		return err
	}
	switch {
	case len(f.inspected) != 1:
		return usage(errors.New("name the database to ask, once: --inspect pg=postgres://user@host:5432/database"))
	case f.apply && f.times < leastTimes:
		return usage(fmt.Errorf("--times %d: a comparison needs at least %d runs on each side", f.times, leastTimes))
	}
	bundle := ""
	if len(args) == 1 {
		if _, err := os.Stat(filepath.Join(args[0], record.RunFile)); err == nil {
			bundle, args = args[0], nil
		}
	}
	planned := len(args) == 1 || f.config != ""
	if f.apply && !planned {
		return usage(errors.New("--apply measures a load before and after: name its plan"))
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := servers.Open(ctx, f.inspected[0], f.build)
	if err != nil {
		return &exitError{exitUnreachable, fmt.Errorf("--inspect: %w", err)}
	}
	defer db.Close()
	if planned {
		return f.measured(s, args, db)
	}
	var seen []record.Inspection
	if bundle != "" {
		if seen, err = inspectionsOf(bundle); err != nil {
			return usage(err)
		}
	}
	proposals, err := db.Propose(ctx, seen)
	if err != nil {
		return err
	}
	return f.printProofs(s.out, unproven(proposals))
}

// inspectionsOf reads what a run's record says of databases.
func inspectionsOf(dir string) ([]record.Inspection, error) {
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		return nil, err
	}
	if len(b.Run.Inspections) == 0 {
		return nil, fmt.Errorf("the run in %s wasn't inspected; repeat it with --inspect", dir)
	}
	return b.Run.Inspections, nil
}

func unproven(list []inspect.Proposal) (out []advise.Proof) {
	for _, p := range list {
		out = append(out, advise.Proof{Proposal: p})
	}
	return out
}

// measured runs the plan: once to see its statements, or to prove what is proposed.
func (f *adviseFlags) measured(s *streams, args []string, db inspect.Database) error {
	p, err := f.read(s, args, nil)
	if err != nil {
		return usage(err)
	}
	return s.runInTurn(&f.runFlags, "advise", []*plan.Plan{p}, func(ctx context.Context, t *inTurn) error {
		times := 1
		if f.apply {
			times = f.times
		}
		trial := &advise.Trial{Database: db, Anyway: f.anyway, Told: func(text string) { t.say("%s", text) }, Measure: func(ctx context.Context, name string) (*advise.Runs, error) {
			return t.measure(ctx, p, name, times, f.coolDown)
		}}
		var proofs []advise.Proof
		var err error
		if f.apply {
			proofs, err = trial.Prove(ctx)
		} else {
			var runs *advise.Runs
			if runs, err = trial.Measure(ctx, "before"); err == nil {
				var list []inspect.Proposal
				list, err = db.Propose(ctx, runs.Inspections)
				proofs = unproven(list)
			}
		}
		if err != nil && len(proofs) == 0 {
			return err
		}
		return errors.Join(err, f.printProofs(t.out.out, proofs))
	})
}

// measure runs a plan so many times.
func (t *inTurn) measure(ctx context.Context, p *plan.Plan, name string, times int, coolDown time.Duration) (*advise.Runs, error) {
	r := &series.Repetition{Plan: p, Times: times, CoolDown: coolDown, Rest: series.Sleep, Conduct: func(ctx context.Context, o series.Order) (*series.Outcome, error) {
		o.Name = name + "-" + o.Name
		return t.conduct(ctx, o)
	}}
	r.Planned = func(n series.Turn) { t.say("%s: run %d of %d", name, n.Number, n.Of) }
	done, err := r.Run(ctx)
	if err != nil {
		return nil, err
	}
	out := &advise.Runs{}
	for _, o := range done.A {
		out.Results = append(out.Results, result.Of(o.Run))
		out.Inspections = o.Run.Inspections // of the last: the same statements again and again
	}
	return out, nil
}

// printProofs writes what is proposed, and what came of it, in the chosen form.
func (f *adviseFlags) printProofs(w io.Writer, proofs []advise.Proof) error {
	if f.output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if proofs == nil {
			proofs = []advise.Proof{}
		}
		return e.Encode(proofs)
	}
	return f.tables(w, func(l units.Language) []cell.Table { return report.Advice(proofs, l) })
}
