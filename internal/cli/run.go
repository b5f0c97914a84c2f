package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

func newRun(s *command.Env) *cobra.Command {
	f := &runFlags{}
	cmd := newCommand("run", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		return f.run(s, args, nil)
	})
	f.bind(s, cmd)
	cmd.Flags().DurationVar(&f.changes.Duration, "duration", 0,
		"how long: the length of the plan's only phase; a plan of counts sends on all sessions for so long")
	usage.InGroup(cmd.Flags(), usage.Load, "duration")
	return command.HasPlan(cmd)
}

func newQueue(s *command.Env) *cobra.Command {
	f := &runFlags{}
	cmd := newCommand("queue", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		l := plan.QueueLoad()
		return f.run(s, args, &l)
	})
	f.bind(s, cmd)
	return command.HasPlan(cmd)
}

func newRate(s *command.Env) *cobra.Command {
	f := &runFlags{}
	var rate float64
	var duration time.Duration
	cmd := newCommand("rate", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		if rate <= 0 && cmd.Flags().Changed("rate") {
			return exitcode.Usage(fmt.Errorf("--rate %v: give a rate above zero, such as 1000 or 600/m", rate))
		}
		if rate <= 0 {
			return exitcode.Usage(errors.New("no rate given; add --rate with operations per second"))
		}
		if err := flags.Above("duration", duration); err != nil {
			return err
		}
		l := plan.RateLoad(rate, duration)
		return f.run(s, args, &l)
	})
	cmd.Aliases = []string{"const_rps"}
	f.bind(s, cmd)
	cmd.Flags().Var((*usage.Rate)(&rate), "rate", "operations per second, or N/unit such as 600/m")
	cmd.Flags().DurationVar(&duration, "duration", time.Minute, "how long")
	usage.InGroup(cmd.Flags(), usage.Load, "rate", "duration")
	return command.HasPlan(cmd)
}

func newSpike(s *command.Env) *cobra.Command {
	f := &runFlags{}
	var base, peak float64
	var rise, hold, fall time.Duration
	cmd := newCommand("spike", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		if peak <= 0 || base < 0 || base > peak {
			return exitcode.Usage(fmt.Errorf("--base %g --peak %g: the peak must be above zero and not below the base", base, peak))
		}
		if rise < 0 || hold < 0 || fall < 0 || rise+hold+fall == 0 {
			return exitcode.Usage(errors.New("--rise, --hold and --fall must not be negative, and not all be zero"))
		}
		l := plan.SpikeLoad(base, peak, rise, hold, fall)
		return f.run(s, args, &l)
	})
	f.bind(s, cmd)
	fs := cmd.Flags()
	fs.Var((*usage.Rate)(&base), "base", "rate before and after the spike, operations per second")
	fs.Var((*usage.Rate)(&peak), "peak", "rate at the top, operations per second")
	fs.DurationVar(&rise, "rise", 10*time.Second, "time from base to peak")
	fs.DurationVar(&hold, "hold", 30*time.Second, "time at the peak")
	fs.DurationVar(&fall, "fall", 10*time.Second, "time from peak to base")
	usage.InGroup(fs, usage.Load, "base", "peak")
	return command.HasPlan(cmd)
}

// runFlags are the flags of the commands that run a plan.
type runFlags struct {
	command.PlanFlags
	command.LoadFlags
	changes      flags.Run
	noSetup      bool
	noTeardown   bool
	force        bool
	summaries    summaryFlags
	allowFaults  bool
	faultsDryRun bool
}

func (f *runFlags) bind(s *command.Env, cmd *cobra.Command) {
	f.PlanFlags.Bind(cmd)
	fs, r := cmd.Flags(), &f.changes
	fs.IntVar(&r.Sessions, "vu", 1, "sessions (connections) over all addresses")
	fs.StringVar(&r.Balance, "balance", "round-robin",
		"how sessions spread over addresses: round-robin, weighted (host:port*3) or random")
	fs.Float64Var(&r.Scale, "scale", 1, "multiply all rates of the plan")
	fs.IntVar(&r.Retries, "retries", 3, "further attempts after a retryable error")
	fs.StringVar(&r.Part, "part", "", "run part K/N of the load: machine K of N takes each Nth operation; see brunt merge")
	usage.InGroup(fs, usage.Load, "vu")
	fs.Float64Var(&r.ErrorThreshold, "error-threshold", 0, "stop when so many per cent of the operations have failed")
	usage.InGroup(fs, usage.Judging)
	fs.BoolVar(&f.noSetup, "no-setup", false, "neither create nor fill tables")
	fs.BoolVar(&f.noTeardown, "no-teardown", false, "keep the tables that this run created")
	fs.BoolVar(&f.force, "force", false, "fill empty tables that brunt didn't create")
	usage.InGroup(fs, usage.Data)
	fs.BoolVar(&f.allowFaults, "allow-faults", false, "do the plan's faults to servers, and undo them")
	fs.BoolVar(&f.faultsDryRun, "faults-dry-run", false, "print when the plan's faults come, and send nothing")
	usage.InGroup(fs, usage.Load)
	f.summaries.bind(fs)
	usage.InGroup(fs, usage.Output)
	f.LoadFlags.Bind(s, cmd, cmp.Or(s.Form, "text"))
}

// run reads the plan, runs it and prints the result. load, if not nil, replaces the plan's own.
func (f *runFlags) run(s *command.Env, args []string, load *plan.Load) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	p, err := f.read(s, args, load)
	if err != nil {
		return exitcode.Usage(err)
	}
	part, err := f.changes.ParsePart()
	if err != nil {
		return exitcode.Usage(err)
	}
	if f.changes.Part != "" && f.Workers.Number > 0 {
		return exitcode.Usage(errors.New("--part and --workers exclude each other: --workers gives each worker its part"))
	}
	if f.faultsDryRun {
		return timetable(s, p)
	}
	if err := f.CheckWorkers(&f.Record, p); err != nil {
		return err
	}
	l := &loadtest.Test{
		Plan: p, Record: f.Record, Live: f.Live, Workers: f.Workers, Process: s.Process(),
		Quiet: f.Quiet, Language: f.Language(),
		Options: runner.Options{NoSetup: f.noSetup, NoTeardown: f.noTeardown, Force: f.force, Part: part,
			Faults: f.faults()},
		Hooks: func(out *loadtest.Outputs) (runner.Hooks, error) {
			report := f.Fitting()
			v, err := report.Hooks(out)
			v.Result = func(run *record.Run, dir string) error {
				return errors.Join(f.summaries.write(run, dir), report.Print(out.Out, run, dir))
			}
			return v, err
		},
	}
	return l.Perform(s.Out, s.Err)
}

// read reads the plan, applies the flags to it, and replaces its load if load isn't nil.
func (f *runFlags) read(s *command.Env, args []string, load *plan.Load) (*plan.Plan, error) {
	p, err := f.PlanFlags.Read(s, args)
	if err != nil {
		return nil, err
	}
	return p, f.changes.Apply(p, &f.Load, load)
}
