package cli

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/program/campaign"
)

// matrixFlags are the flags of a comparison of settings.
type matrixFlags struct {
	campaignFlags
	campaign.Matrix
}

func newMatrix(s *command.Env) *cobra.Command {
	f := &matrixFlags{}
	cmd := newCommand("matrix", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		l, err := f.language()
		if err != nil {
			return err
		}
		text, err := f.Text(args[0])
		if err != nil {
			return exitcode.Usage(err)
		}
		p, err := campaign.Parse(filepath.Join(filepath.Dir(args[0]), "matrix.yml"), text, f.scale, readPlan(s))
		if err != nil {
			return exitcode.Usage(err)
		}
		p.Anyway = f.anyway
		c, err := f.campaign(s, l, p.Steps)
		if err != nil {
			return err
		}
		return c.Begin(s.Out, s.Err, p, p.Name)
	})
	f.WorkerFlags.Bind(cmd)
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&f.Set, "set", nil,
		"a setting and its values, NAME=VALUE,VALUE… (repeatable: all are tried with all)")
	fs.StringArrayVar(&f.Cells, "cell", nil,
		"settings that are tried together, NAME=VALUE,NAME=VALUE… (repeatable, instead of --set)")
	fs.StringVar(&f.Reconfigure, "reconfigure", "",
		"command that applies the settings, which are environment variables, and returns")
	fs.StringVar(&f.Run, "run", "", "or: command that is kept running, and started again for other settings")
	fs.StringVar(&f.Ready, "ready", "", "the service is ready when this URL answers")
	fs.DurationVar(&f.Within, "within", time.Minute, "how long it may take to be ready")
	fs.StringSliceVarP(&f.Addresses, "addr", "a", nil, "addresses, instead of the plan's")
	fs.Float64Var(&f.At, "at", 1, "N, what the rates of the plan are multiplied by")
	fs.DurationVar(&f.WarmUp, "warm-up", 10*time.Second, "before each measurement")
	fs.DurationVar(&f.Duration, "duration", time.Minute, "of each measurement")
	fs.IntVar(&f.Repetitions, "repetitions", 3, "of each cell")
	fs.Float64Var(&f.Tolerance, "tolerance", 0.05, "how much worse than the best is as good, as a share")
	fs.StringVar(&f.By, "by", "response.p(95)",
		"figure that decides: response.p(95) or another quantile, response.avg, or rate")
	fs.StringVar(&f.Inspect, "inspect", "",
		"ask the server what it did in each run: auto, or KIND=URL, such as pg=postgres://user@host:5432/database")
	f.campaignFlags.bind(cmd, true, true)
	return cmd
}
