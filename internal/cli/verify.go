package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

func newVerify(s *command.Env) *cobra.Command {
	f := &command.PlanFlags{}
	var form command.FormFlags
	cmd := newCommand("verify", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		if err := form.Check(); err != nil {
			return err
		}
		recorded, err := record.Open(record.OS{}, args[0])
		if err != nil {
			return exitcode.Usage(err)
		}
		if recorded.Live() {
			return exitcode.Usage(fmt.Errorf("the run in %s is under way; it reads back itself when it ends", recorded.Dir))
		}
		p, err := f.Read(s, []string{filepath.Join(recorded.Dir, record.PlanFile)})
		if err != nil {
			return err
		}
		if !p.Verifies() {
			return exitcode.Usage(fmt.Errorf("the plan of %s has no verify, so nothing is known of its writes", recorded.Dir))
		}
		ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
		defer stop()
		run, _, err := recorded.Result()
		if err != nil {
			return err
		}
		if run.Verified, err = runner.ReadBack(ctx, recorded, p); err != nil {
			return loadtest.Failure(ctx, err)
		}
		if form.Output == "json" {
			err = cell.WriteJSON(s.Out, run.Verified)
		} else {
			err = form.Tables(s.Out, func(l units.Language) []cell.Table { return report.Writes(run, l) })
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return exitcode.With(exitcode.Interrupted, nil)
		}
		return exitcode.With(verdict.ExitCodeOfWrites(run.Verified), nil)
	})
	f.Bind(cmd)
	form.Bind(cmd.Flags(), "text", "writes", "text", "md", "csv", "json")
	return cmd
}
