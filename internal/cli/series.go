package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/loadtest/series"
	"brunt/internal/run/runner"
)

// seriesFlags are the flags of the commands that run several loads in sequence.
type seriesFlags struct {
	runFlags
	resume string // folder of an interrupted series
}

func (f *seriesFlags) bind(s *command.Env, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resume, "resume", "",
		"go on in this folder of a series that was killed or interrupted, with the same plan and flags: runs that are whole are kept")
	f.runFlags.bind(s, cmd)
}

// check returns an error for flags that are for a single run only.
func (f *seriesFlags) check() error {
	switch {
	case f.Record.None:
		return exitcode.Usage(errors.New("--no-record: a series is decided and reported from its bundles; remove the flag"))
	case f.Record.HDRLog != "":
		return exitcode.Usage(errors.New("--hlog is for one run; take the histograms from the bundles of the series"))
	case !slices.Contains(seriesFormats(), f.Output):
		return exitcode.Usage(fmt.Errorf("--output %s: use %s", f.Output, strings.Join(seriesFormats(), ", ")))
	}
	return nil
}

func seriesFormats() []string { return []string{"text", "json", "md", "csv"} }

// runs executes a series of the given kind. order identifies the series, together with its plans.
func (f *seriesFlags) runs(s *command.Env, kind, order string, plans []*plan.Plan,
	do func(context.Context, *series.Series) error) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.CheckSeries(&f.Record, plans...); err != nil {
		return err
	}
	return series.Run(s.Out, s.Err, series.Options{
		Kind: kind, Settings: order, Plans: plans, Resume: f.resume, NoSetup: f.noSetup, NoTeardown: f.noTeardown,
		Force: f.force,
		Load: loadtest.Test{Record: f.Record, Live: f.Live, Workers: f.Workers, Process: s.Process(), Quiet: f.Quiet,
			Options: runner.Options{Faults: f.faults()}, Hooks: f.Report().Hooks},
	}, do)
}
