package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/slowcooker"
	"brunt/internal/dialect/slowcooker/cook"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// exitCookUsage is slow_cooker's exit code for a bad command line.
const exitCookUsage = 64

func newCook(s *streams) *cobra.Command {
	cmd := command("cook", nil, func(_ *cobra.Command, args []string) error { return slowCooker(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { slowcooker.Usage(cmd.OutOrStdout(), "brunt cook") })
	return cmd
}

// slowCooker executes a command line of slow_cooker.
func slowCooker(s *streams, args []string) error {
	name, summary := "brunt cook", "report"
	replacing := s.dialect.tool != ""
	if replacing {
		name, summary = s.dialect.tool, ""
	}
	workers, args, err := takeWorkers(args)
	if err != nil {
		return cookUsage(err, replacing)
	}
	o, err := slowcooker.Parse(args, s.in, summary)
	switch {
	case errors.Is(err, slowcooker.ErrHelp) && replacing:
		slowcooker.Usage(s.err, name)
		return exitcode.With(exitCookUsage, nil)
	case errors.Is(err, slowcooker.ErrHelp):
		slowcooker.Usage(s.out, name)
		return nil
	case err != nil:
		return cookUsage(err, replacing)
	}
	err = runCook(s, o, workers, replacing)
	if e, ok := errors.AsType[*exitcode.Error](err); ok && e.Code == exitcode.BadPlan {
		return cookUsage(e.Err, replacing)
	}
	return err
}

// cookUsage marks an error as the user's, with the exit code of the program that brunt was called as.
func cookUsage(err error, replacing bool) error {
	if replacing {
		return exitcode.With(exitCookUsage, err)
	}
	return exitcode.Usage(err)
}

// runCook sends the load that a command line of slow_cooker describes.
func runCook(s *streams, o *slowcooker.Options, workers *workerFlags, replacing bool) error {
	p, err := o.Plan(endpoints.Proxied(o.URLs))
	if err != nil {
		return exitcode.Usage(err)
	}
	s.flags = adjusting("-", slowcooker.Has)
	if err := workers.checkWorkers(&loadtest.Record{None: o.NoRecord}, p); err != nil {
		return err
	}
	c := &cook.Execution{Options: o, Replacing: replacing}
	l := &loadtest.Test{
		Plan: p, Process: s.process(), Workers: workers.workers,
		Options: runner.Options{
			NoSetup: true, Wait: o.Wait,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "slow_cooker"}},
		},
		Record: loadtest.Record{Root: o.Results, Dir: o.Bundle, None: o.NoRecord, HDRLog: o.HDRLog},
		Live:   loadtest.Live{MetricsAddr: o.MetricAddr, Destinations: o.Exports, Watched: o.Watched},
		Quiet:  o.Quiet || replacing, ReopensLog: o.Log != "",
		Hooks: c.Hooks, Open: c.Open,
	}
	return l.Perform(s.out, s.err)
}
