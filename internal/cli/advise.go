package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/advise"
	"brunt/internal/run/loadtest/series"

	"github.com/spf13/cobra"
)

// adviseFlags are the flags of brunt advise.
type adviseFlags struct {
	seriesFlags
	apply    bool
	build    bool
	anyway   bool
	times    int
	coolDown time.Duration
}

func newAdvise(s *command.Env) *cobra.Command {
	f := &adviseFlags{}
	cmd := newCommand("advise", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		return f.advise(s, args)
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&f.apply, "apply", false, "build what is proposed, measure, and keep what pays")
	cmd.Flags().BoolVar(&f.build, "build", false,
		"without HypoPG, try indexes by building them in transactions that are rolled back (which blocks writes to their tables)")
	cmd.Flags().BoolVar(&f.anyway, "anyway", false, "with --apply: judge by runs that the generator spoiled, too")
	cmd.Flags().IntVar(&f.times, "times", 5, "runs with each index, and as many without it")
	cmd.Flags().DurationVar(&f.coolDown, "cool-down", 5*time.Second, "between runs")
	f.bind(s, cmd)
	return cmd
}

func (f *adviseFlags) advise(s *command.Env, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	switch {
	case len(f.Live.Inspected) != 1:
		return exitcode.Usage(errors.New("name the database to ask, once: --inspect pg=postgres://host:5432/database?user=name"))
	case f.apply && f.times < advise.Fewest:
		return exitcode.Usage(fmt.Errorf("--times %d: a comparison needs at least %d runs on each side", f.times, advise.Fewest))
	}
	bundle := ""
	if len(args) == 1 {
		if _, err := os.Stat(filepath.Join(args[0], record.RunFile)); err == nil {
			bundle, args = args[0], nil
		}
	}
	planned := len(args) == 1 || f.Target.Config != ""
	if f.apply && !planned {
		return exitcode.Usage(errors.New("--apply measures a load before and after: name its plan"))
	}
	if f.resume != "" && !planned {
		return exitcode.Usage(errors.New("--resume goes on with the runs of a plan: name it, with the flags that it had"))
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := servers.Open(ctx, f.Live.Inspected[0], f.build)
	if err != nil {
		return exitcode.With(exitcode.Unreachable, fmt.Errorf("--inspect: %w", err))
	}
	if planned {
		return f.measured(s, args, db)
	}
	var seen []record.Inspection
	if bundle != "" {
		if seen, err = inspectionsOf(bundle); err != nil {
			return exitcode.Usage(err)
		}
	}
	proposals, err := db.Propose(ctx, seen)
	if err != nil {
		return err
	}
	return f.printProofs(s.Out, series.Unproven(proposals))
}

// inspectionsOf reads the database inspections of a run's record.
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

// measured runs the plan: once to observe its statements, or repeatedly to test the proposals.
func (f *adviseFlags) measured(s *command.Env, args []string, db inspect.Database) error {
	p, err := f.read(s, args, nil)
	if err != nil {
		return exitcode.Usage(err)
	}
	order := fmt.Sprint(f.apply, f.build, f.times)
	return f.runs(s, "advise", order, []*plan.Plan{p}, func(ctx context.Context, t *series.Series) error {
		var trial *advise.Trial
		if f.apply {
			trial = &advise.Trial{Database: db, Times: f.times, Anyway: f.anyway}
		}
		return t.Advise(ctx, p, db, trial, f.coolDown, func(proofs []record.Proof) error {
			return f.printProofs(t.Out.Out, proofs)
		})
	})
}

// printProofs writes the proposals and the results of their tests in the chosen form.
func (f *adviseFlags) printProofs(w io.Writer, proofs []record.Proof) error {
	if f.Output == "json" {
		if proofs == nil {
			proofs = []record.Proof{}
		}
		return cell.WriteJSON(w, proofs)
	}
	return f.Tables(w, func(l units.Language) []cell.Table { return report.Advice(proofs, l) })
}
