package cli

import (
	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/doctor"
	"brunt/internal/run/loadtest"
)

func newDoctor(s *command.Env) *cobra.Command {
	f := &command.PlanFlags{}
	var form command.FormFlags
	var sessions int
	cmd := newCommand("doctor", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		if err := form.Check(); err != nil {
			return err
		}
		p, err := f.Read(s, args)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("vu") {
			if err := flags.SetSessions(p, sessions); err != nil {
				return exitcode.Usage(err)
			}
		}
		ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
		defer stop()
		all, err := doctor.Examine(ctx, p, s.Flags["sessions"])
		if err != nil {
			return loadtest.Failure(ctx, err)
		}
		if form.Output == "json" {
			err = doctor.JSON(s.Out, all, form.Language())
		} else {
			err = form.Tables(s.Out, func(l units.Language) []cell.Table { return doctor.Tables(all, l) })
		}
		if err != nil {
			return err
		}
		switch doctor.Worst(all) {
		case doctor.Unreachable:
			return exitcode.With(exitcode.Unreachable, nil)
		case doctor.Problem:
			return exitcode.With(exitcode.BadPlan, nil)
		}
		return nil
	})
	f.Bind(cmd)
	cmd.Flags().IntVar(&sessions, "vu", 1, "sessions (connections) over all addresses")
	usage.InGroup(cmd.Flags(), usage.Load, "vu")
	form.Bind(cmd.Flags(), "text", "findings", "text", "md", "csv", "json")
	return cmd
}
