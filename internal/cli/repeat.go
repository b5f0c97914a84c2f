package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/compare"
	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/program"
	"brunt/internal/result"
	"brunt/internal/units"
)

func newRepeat(s *streams) *cobra.Command {
	f := &runFlags{}
	var base string
	var coolDown time.Duration
	cmd := &cobra.Command{
		Use:   "repeat N [--ab BASE_PLAN] PLAN",
		Short: "Run a plan several times, or two plans in turn, and say what is sure",
		Long: `Run a plan N times and give its figures with their intervals. With --ab a second plan, the base,
is run as often, in the order A B B A A B …, so that what changes over the series meets both alike;
the result is the comparison. Flags are for both plans.`,
		Example: "  brunt repeat 5 examples/cars.yml\n  brunt repeat 5 --ab before.yml after.yml --cool-down 10s",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			times, err := strconv.Atoi(args[0])
			if err != nil || times < 1 {
				return exitcode.Usage(fmt.Errorf("%q is no number of runs; write for example brunt repeat 5 PLAN", args[0]))
			}
			if coolDown < 0 {
				return exitcode.Usage(fmt.Errorf("--cool-down %s: give a time of at least 0", coolDown))
			}
			p, err := f.read(s, args[1:], nil)
			if err != nil {
				return exitcode.Usage(err)
			}
			r := &program.Repetition{Plan: p, Times: times, CoolDown: coolDown, Rest: program.Sleep}
			f.order = strconv.Itoa(times)
			plans := []*plan.Plan{p}
			if base != "" {
				f.config = ""
				if r.Base, err = f.read(s, []string{base}, nil); err != nil {
					return exitcode.Usage(err)
				}
				if err := oneDatabase(r.Base, p); err != nil && !f.noSetup {
					return exitcode.Usage(err)
				}
				plans = []*plan.Plan{r.Base, p}
			}
			return repeat(s, f, r, plans)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&base, "ab", "", "plan to compare with: the base")
	cmd.Flags().DurationVar(&coolDown, "cool-down", 5*time.Second, "between runs")
	f.bindResume(cmd)
	f.bind(s, cmd)
	return cmd
}

func repeat(s *streams, f *runFlags, r *program.Repetition, plans []*plan.Plan) error {
	return s.runInTurn(f, "repeat", plans, func(ctx context.Context, t *inTurn) error {
		began := time.Now().UTC()
		r.Conduct = t.conduct
		r.Planned = func(n program.Turn) { t.say("run %d of %d: %s", n.Number, n.Of, n.Side) }
		r.Told = func(n program.Turn, o *program.Outcome) {
			t.say("run %d of %d: %s/s, p99 %s, %s", n.Number, n.Of, units.Rate(o.Run.Total.RatePerS),
				units.LatencyInt(o.Run.Total.Response.P99Ns), o.Run.Verdict.Result)
		}
		done, err := r.Run(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		report := program.RepeatReport(plans[len(plans)-1], done, began)
		if err := report.Write(t.dir); err != nil {
			return err
		}
		return t.conclude(&f.outputFlags, report, done)
	})
}

// conclude prints what the runs of a repetition come to: intervals of one side, or the comparison of two.
func (t *inTurn) conclude(f *outputFlags, report *program.Report, done *program.Repeated) error {
	a, err := resultsOf(done.A)
	b, err2 := resultsOf(done.B)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if len(b) > 0 {
		// The plans differ by intent; that they do is said next to the result.
		invalid := slices.ContainsFunc(slices.Concat(a, b), func(r *result.Result) bool { return r.Verdict == "invalid" })
		c, err := compare.Runs(a, b, compare.Options{Anyway: true})
		switch {
		case err != nil && invalid:
			return errors.Join(t.print(f, report), exitcode.With(exitcode.Invalid, err))
		case err != nil:
			return errors.Join(t.print(f, report), refusal(err))
		}
		code := exitcode.Pass
		switch {
		case invalid:
			code = exitcode.Invalid
		case c.Verdict == compare.Regression:
			code = exitcode.Regression
		}
		switch f.output {
		case "json":
			return exitcode.With(code, errors.Join(loadtest.Drain(t.out.Out), c.JSON(t.out.Out, code)))
		case "csv":
			return exitcode.With(code, errors.Join(loadtest.Drain(t.out.Out), c.CSV(t.out.Out)))
		}
		return exitcode.With(code, t.print(f, report, c.Tables(f.language())...))
	}
	s, err := compare.Intervals(a, compare.Options{})
	if err != nil {
		return errors.Join(t.print(f, report), refusal(err))
	}
	switch f.output {
	case "json":
		return errors.Join(loadtest.Drain(t.out.Out), s.JSON(t.out.Out))
	case "csv":
		return errors.Join(loadtest.Drain(t.out.Out), s.CSV(t.out.Out))
	}
	return t.print(f, report, s.Tables(f.language())...)
}

// resultsOf reads the runs of one side.
func resultsOf(runs []*program.Outcome) ([]*result.Result, error) {
	var paths []string
	for _, o := range runs {
		paths = append(paths, o.Dir)
	}
	return readResults(paths)
}

// oneDatabase refuses plans that make a table of the same name in the same place, and differently: what one
// of them made would be what both are sent to.
func oneDatabase(a, b *plan.Plan) error {
	if a.Target.Database != b.Target.Database || !slices.Equal(a.Target.Addresses, b.Target.Addresses) {
		return nil
	}
	for i := range a.Tables {
		name := a.Tables[i].Name
		if !slices.ContainsFunc(b.Tables, func(t plan.Table) bool { return t.Name == name }) {
			continue
		}
		x, err := tableText(a, name)
		y, err2 := tableText(b, name)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if x != y {
			return fmt.Errorf(
				"both plans make the table %q, but with other rows, columns or indexes: each would find what the first made; give it another name or database in one of them, or make it by hand and add --no-setup", name)
		}
	}
	return nil
}

// tableText is how a plan makes a table.
func tableText(p *plan.Plan, name string) (string, error) {
	only := &plan.Plan{Name: name, Seed: p.Seed}
	for _, t := range p.Tables {
		if t.Name == name {
			only.Tables = append(only.Tables, t)
		}
	}
	for _, i := range p.Indexes {
		if i.Table == name {
			only.Indexes = append(only.Indexes, i)
		}
	}
	text, err := planfile.Write(only)
	return string(text), err
}
