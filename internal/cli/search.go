package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/exitcode"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/program"
	"brunt/internal/units"
)

// searchFlags are the flags of a search besides those of every load.
type searchFlags struct {
	program.SearchOptions
	trial, pause time.Duration
	anyway       bool
}

func newSearch(s *streams) *cobra.Command {
	f := &runFlags{}
	o := &searchFlags{SearchOptions: program.DefaultSearch()}
	cmd := &cobra.Command{
		Use:   "search PLAN",
		Short: "Find the highest load that the target sustains",
		Long: `Find the highest load that the target sustains. The rates of the plan (100 % of its profile)
are multiplied by N: N rises geometrically until a trial fails, what lies between is halved, and at
the end the lower bound must pass three trials and the upper bound fail two.

A trial passes when the thresholds hold, 99 % of what was offered is answered well in time, and the
backlog doesn't grow. Without thresholds the first trial, at the lowest N, is the base line: a trial
fails when the 95th percentile takes five times as long. A trial that the generator spoiled is
repeated, and says nothing of the target.`,
		Example: "  brunt search examples/http.yml --trial 30s\n  brunt search examples/shop.yml --proto pg -a 127.0.0.1:5432 -u stress --start 1 --max 200 --threshold 'p(99) < 50ms'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(s, cmd, f, args) },
	}
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
	f.bindResume(cmd)
	f.bind(s, cmd)
	return cmd
}

func (o *searchFlags) run(s *streams, cmd *cobra.Command, f *runFlags, args []string) error {
	if f.warmUp < 0 {
		return exitcode.Usage(fmt.Errorf("--warm-up %s: give a time such as 5s, or 0s for none", f.warmUp))
	}
	p, err := f.read(s, args, nil)
	if err != nil {
		return exitcode.Usage(err)
	}
	if err := durationFlag("trial", o.trial); err != nil {
		return err
	}
	if o.pause < 0 {
		return exitcode.Usage(fmt.Errorf("--pause %s: give a time such as 1s, or 0s for none", o.pause))
	}
	h, err := program.NewTargetSearch(p, o.SearchOptions)
	if err != nil {
		return exitcode.Usage(err)
	}
	h.Trial, h.Pause = o.trial, o.pause
	if cmd.Flags().Changed("warm-up") {
		h.WarmUp = f.warmUp
	}
	f.order = fmt.Sprintf("%+v %s %s %t", h.Options, h.Trial, h.WarmUp, o.anyway)
	return s.runInTurn(f, "search", []*plan.Plan{p}, func(ctx context.Context, t *inTurn) error {
		began := time.Now().UTC()
		h.Conduct = t.conduct
		if o.anyway {
			h.Conduct = func(ctx context.Context, order program.Order) (*program.Outcome, error) {
				out, err := t.conduct(ctx, order)
				if err == nil {
					out.AcceptInvalid()
				}
				return out, err
			}
		}
		h.Planned = func(trial program.Trial) {
			t.say("trial %d: %s, N %s (%s/s), %s", trial.Number, trial.Purpose, program.Scale(trial.N),
				units.Rate(trial.N*h.Options.RatePerS), units.Plural(trial.Sessions, "session", "sessions"))
		}
		h.Told = func(r program.Result) { t.say("trial %d: %s", r.Number, r.Line()) }
		found, err := h.Run(ctx)
		if err != nil && ctx.Err() == nil {
			return errors.Join(err, searchLeft(t, f, p, found, began))
		}
		report := program.SearchReport(p, found, began)
		if o.anyway {
			report.Note = message.New("note.trials-anyway")
		}
		err = errors.Join(report.Write(t.dir), t.print(&f.outputFlags, report))
		return searchEnd(report.Search.Bracket, err)
	})
}

// searchLeft keeps and prints what a search came to that an error ended; nothing if it had no trials.
func searchLeft(t *inTurn, f *runFlags, p *plan.Plan, found *program.Search, began time.Time) error {
	if len(found.Results()) == 0 {
		return nil
	}
	report := program.SearchReport(p, found, began)
	return errors.Join(report.Write(t.dir), t.print(&f.outputFlags, report))
}

// searchEnd is the exit code of a search, with a line about what to do where it found no bracket.
func searchEnd(b program.Bracket, err error) error {
	switch b.End {
	case program.Found:
		return err
	case program.AtLowest:
		return exitcode.With(exitcode.Threshold,
			errors.Join(errors.New("the target fails at the lowest load allowed; lower --min, or see why the trials failed"),
				err))
	case program.AtHighest:
		return exitcode.With(exitcode.Invalid,
			errors.Join(errors.New("the target passes at the highest load allowed, so its maximum isn't known; raise --max"),
				err))
	case program.GeneratorLimit:
		return exitcode.With(exitcode.Invalid,
			errors.Join(
				errors.New(
					"the generator, not the target, limited the search: what it couldn't offer is no result; free this machine's cores, or use a faster one"), err))
	case program.OutOfTrials:
		return exitcode.With(exitcode.Invalid,
			errors.Join(
				errors.New(
					"the trials ran out before the bracket was settled; allow more (--trials), or make them longer (--trial) so that equal loads agree"), err))
	}
	return err
}
