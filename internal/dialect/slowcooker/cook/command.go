package cook

import (
	"embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/slowcooker"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// exitCookUsage is slow_cooker's exit code for a bad command line.
const exitCookUsage = 64

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares slow_cooker.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "slow_cooker", Formats: []string{"slow_cooker"}, Programs: []string{"slow_cooker"},
		Commands: []dialect.Command{{Name: "cook", New: newCook, Letters: secret.Flags{Words: true}}},
	}
}

func newCook(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("cook", nil, func(_ *cobra.Command, args []string) error { return slowCooker(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		slowcooker.Usage(cmd.OutOrStdout(), "brunt cook")
		fmt.Fprint(cmd.OutOrStdout(), command.AboutWorkers)
	})
	return command.HasPlan(cmd)
}

// slowCooker executes a command line of slow_cooker.
func slowCooker(s *command.Env, args []string) error {
	name, summary := "brunt cook", "report"
	replacing := s.Program != ""
	if replacing {
		name, summary = s.Program, ""
	}
	workers, args, err := command.TakeWorkers(args)
	if err != nil {
		return cookUsage(err, replacing)
	}
	o, err := slowcooker.Parse(args, s.In, summary)
	switch {
	case errors.Is(err, slowcooker.ErrHelp) && replacing:
		slowcooker.Usage(s.Err, name)
		return exitcode.With(exitCookUsage, nil)
	case errors.Is(err, slowcooker.ErrHelp):
		slowcooker.Usage(s.Out, name)
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
func runCook(s *command.Env, o *slowcooker.Options, workers *command.WorkerFlags, replacing bool) error {
	p, err := o.Plan(endpoints.Proxied(o.URLs))
	if err != nil {
		return exitcode.Usage(err)
	}
	s.Flags = command.Adjusting("-", slowcooker.Has)
	if err := workers.CheckWorkers(&loadtest.Record{None: o.NoRecord}, p); err != nil {
		return err
	}
	c := &Execution{Options: o, Replacing: replacing}
	l := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: workers.Workers,
		Options: runner.Options{
			NoSetup: true, Wait: o.Wait,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "slow_cooker"}},
		},
		Record: loadtest.Record{Root: o.Results, Dir: o.Bundle, None: o.NoRecord, HDRLog: o.HDRLog},
		Live:   loadtest.Live{MetricsAddr: o.MetricAddr, Destinations: o.Exports, Watched: o.Watched, Inspected: o.Inspected},
		Quiet:  o.Quiet || replacing, ReopensLog: o.Log != "",
		Hooks: c.Hooks, Open: c.Open, Beyond: c.beyond(),
	}
	return l.Perform(s.Out, s.Err)
}

// beyond returns what of the command no plan describes.
func (c *Execution) beyond() []string {
	out := []string{"slow_cooker's lines and summary: brunt run prints its own report"}
	if c.Options.CSV != "" {
		out = append(out, "the latencies in "+c.Options.CSV+": see brunt export")
	}
	if c.Options.Compat {
		out = append(out, "the start of a load while its service is down")
	}
	return out
}
