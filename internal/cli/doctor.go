package cli

import (
	"github.com/spf13/cobra"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/doctor"
	"brunt/internal/run/loadtest"
)

func newDoctor(s *streams) *cobra.Command {
	f := &planFlags{}
	var form formFlags
	cmd := command("doctor", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		if err := form.check(); err != nil {
			return err
		}
		p, err := f.read(s, args)
		if err != nil {
			return err
		}
		ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
		defer stop()
		all, err := doctor.Examine(ctx, p, s.flags["sessions"])
		if err != nil {
			return loadtest.Failure(ctx, err)
		}
		if form.output == "json" {
			err = doctor.JSON(s.out, all, form.language())
		} else {
			err = form.tables(s.out, func(l units.Language) []cell.Table { return doctor.Tables(all, l) })
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
	f.bind(cmd)
	form.bind(cmd.Flags(), "text", "findings", "text", "md", "csv", "json")
	return cmd
}
