package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/loadtest/series"
	"brunt/internal/run/program"
)

// searchFlags are the flags of a search, in addition to those of every load.
type searchFlags struct {
	program.SearchOptions
	trial, pause time.Duration
	anyway       bool
}

func newSearch(s *command.Env) *cobra.Command {
	f := &seriesFlags{}
	o := &searchFlags{SearchOptions: program.DefaultSearch()}
	cmd := newCommand("search", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.run(s, cmd, f, args)
	})
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Float64Var(&o.Start, "start", o.Start, "first N")
	fs.Float64Var(&o.Min, "min", o.Min, "lowest N; the base line, if there are no thresholds")
	fs.Float64Var(&o.Max, "max", o.Max, "highest N")
	fs.DurationVar(&o.trial, "trial", 30*time.Second, "length of a trial, without its warm-up")
	fs.DurationVar(&o.pause, "pause", time.Second, "between trials")
	fs.Float64Var(&o.Width, "width", o.Width, "width of the bracket, as a share of its lower bound")
	fs.IntVar(&o.Trials, "trials", o.Trials, "most trials")
	fs.IntVar(&o.MaxSessions, "max-sessions", o.MaxSessions, "most sessions that trials may have")
	fs.BoolVar(&o.anyway, "anyway", false,
		"judge trials that the generator spoiled all the same, for rehearsals on a busy machine; the result says so")
	f.bind(s, cmd)
	return cmd
}

func (o *searchFlags) run(s *command.Env, cmd *cobra.Command, f *seriesFlags, args []string) error {
	if f.Load.WarmUp < 0 {
		return exitcode.Usage(fmt.Errorf("--warm-up %s: give a time such as 5s, or 0s for none", f.Load.WarmUp))
	}
	p, err := f.read(s, args, nil)
	if err != nil {
		return exitcode.Usage(err)
	}
	if err := flags.Above("trial", o.trial); err != nil {
		return err
	}
	if o.pause < 0 {
		return exitcode.Usage(fmt.Errorf("--pause %s: give a time such as 1s, or 0s for none", o.pause))
	}
	if n := f.Workers.Number; n > 0 { // trials have their own numbers of sessions
		o.Sessions = min(max(o.Sessions, n), max(o.MaxSessions, 1))
		p.Settings.Sessions = max(p.Settings.Sessions, o.Sessions)
	}
	h, err := program.NewTargetSearch(p, o.SearchOptions)
	if err != nil {
		return exitcode.Usage(err)
	}
	h.Trial, h.Pause = o.trial, o.pause
	if cmd.Flags().Changed("warm-up") {
		h.WarmUp = f.Load.WarmUp
	}
	order := fmt.Sprintf("%+v %s %s %t", h.Options, h.Trial, h.WarmUp, o.anyway)
	return f.runs(s, "search", order, []*plan.Plan{p}, func(ctx context.Context, t *series.Series) error {
		return t.Search(ctx, h, o.anyway, f.Report())
	})
}
