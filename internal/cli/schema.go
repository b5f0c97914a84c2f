package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/loadtest"
	"brunt/internal/server/schema"
	"brunt/internal/server/schema/fill"
)

func newSchema(s *command.Env) *cobra.Command {
	return newGroup("schema", newSchemaUp(s), newSchemaDown(s))
}

func newSchemaUp(s *command.Env) *cobra.Command {
	f, w := &command.PlanFlags{}, &command.WorkerFlags{}
	var o schema.FillOptions
	var check, checkpoint string
	var quiet bool
	cmd := newCommand("schema-up", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		p, err := f.Read(s, args)
		if err != nil {
			return err
		}
		if o.Check, err = fill.ParseCheck(check); err != nil {
			return exitcode.Usage(err)
		}
		o.Checkpoint = loadtest.CheckpointOf(p, checkpoint)
		o.Version = s.Version
		if err := checkFilling(w, p); err != nil {
			return exitcode.Usage(err)
		}
		return loadtest.FillTables(s.Out, s.Err, p, o, w.Workers, quiet)
	})
	f.Bind(cmd)
	cmd.Flags().IntVar(&o.Workers, "workers", 4, "sessions that fill tables at the same time")
	cmd.Flags().StringVar(&check, "check", "count",
		"check at the end: none, count, sample (some rows are read back) or full (all are)")
	cmd.Flags().StringVar(&check, "verify", "count", "the earlier name of --check")
	_ = cmd.Flags().MarkHidden("verify")
	bindCheckpoint(cmd, &checkpoint)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&o.Force, "force", false, "fill empty tables that brunt didn't create")
	usage.InGroup(cmd.Flags(), usage.Data)
	w.BindPlaces(cmd, "processes", "fill tables from so many processes, each with --workers sessions")
	return cmd
}

func bindCheckpoint(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "checkpoint", "",
		`file that remembers what has been loaded (default "results/<plan>-<protocol>.load")`)
}

// checkFilling refuses what --processes can't do for a plan's tables.
func checkFilling(f *command.WorkerFlags, p *plan.Plan) error {
	if err := f.CheckFilling(); err != nil || f.Workers.Number == 0 {
		return err
	}
	if protocols.Of(p.Target.Protocol).Embedded {
		return fmt.Errorf("--processes: what %s stores is opened by one process; use --workers alone", p.Target.Protocol)
	}
	return nil
}

func newSchemaDown(s *command.Env) *cobra.Command {
	f := &command.PlanFlags{}
	var o schema.DownOptions
	var checkpoint string
	cmd := newCommand("schema-down", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		p, err := f.Read(s, args)
		if err != nil {
			return err
		}
		o.Checkpoint = loadtest.CheckpointOf(p, checkpoint)
		return loadtest.DropTables(s.In, s.Out, s.Err, p, o)
	})
	f.Bind(cmd)
	cmd.Flags().BoolVar(&o.Force, "force", false, "drop tables too that brunt didn't create")
	bindCheckpoint(cmd, &checkpoint)
	cmd.Flags().DurationVar(&o.Timeout, "timeout", time.Minute, "time for each table, unless the plan gives it less")
	return cmd
}
