package cli

import (
	"github.com/spf13/cobra"

	"brunt/internal/doctor"
	"brunt/internal/loadtest"
	"brunt/internal/render/cell"
	"brunt/internal/units"
	"brunt/internal/verdict/exitcode"
)

func newDoctor(s *streams) *cobra.Command {
	f := &planFlags{}
	var form formFlags
	cmd := &cobra.Command{
		Use:   "doctor PLAN",
		Short: "Look whether a plan can be run from here, without sending its load",
		Long: `Look whether a plan can be run from here: is every address reachable, with which version; is there
room for the sessions, in the server's limits and in this process's; do the clocks agree; may the user
make the tables; does each statement work. Statements are tried once each in a transaction that is
rolled back, on servers that have such; on others none is sent.

Each finding has what to do about it. The exit code is that of the worst: 108 if an address can't be
reached, 104 if something else stands in the way of the load, 0 otherwise.`,
		Example: "  brunt doctor examples/cars.yml --proto pg -a 127.0.0.1:5432 -u stress",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := form.check(); err != nil {
				return err
			}
			p, err := f.read(s, args)
			if err != nil {
				return err
			}
			ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
			defer stop()
			all, err := doctor.Examine(ctx, p, s.flags["sessions"], nil)
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
		},
	}
	f.bind(cmd)
	form.bind(cmd.Flags(), "text", "findings", "text", "md", "csv", "json")
	return cmd
}
