package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/loadtest/series"
	"brunt/internal/run/program"
)

func newRepeat(s *command.Env) *cobra.Command {
	f := &seriesFlags{}
	var base string
	var coolDown time.Duration
	cmd := newCommand("repeat", cobra.RangeArgs(1, 2), func(_ *cobra.Command, args []string) error {
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
		plans := []*plan.Plan{p}
		if base != "" {
			f.Target.Config = ""
			if r.Base, err = f.read(s, []string{base}, nil); err != nil {
				return exitcode.Usage(err)
			}
			if err := series.OneDatabase(r.Base, p); err != nil && !f.noSetup {
				return exitcode.Usage(err)
			}
			plans = []*plan.Plan{r.Base, p}
		}
		return f.runs(s, "repeat", strconv.Itoa(times), plans, func(ctx context.Context, t *series.Series) error {
			return t.Repeat(ctx, r, f.Report())
		})
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&base, "ab", "", "plan to compare with: the base")
	cmd.Flags().DurationVar(&coolDown, "cool-down", 5*time.Second, "between runs")
	f.bind(s, cmd)
	return cmd
}
