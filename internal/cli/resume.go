package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"brunt/internal/loadtest"
	"brunt/internal/record"
	"brunt/internal/summary"
)

func newResume(s *streams) *cobra.Command {
	f := &outputFlags{}
	cmd := &cobra.Command{
		Use:   "resume BUNDLE",
		Short: "Go on with a load of workers whose coordinating process was killed",
		Long: `Go on with a load of workers (--workers) whose coordinating process was killed. Workers keep on sending
and try to reach it for 15 minutes after their load. Resumed on the same machine, it takes what they
measured in the meantime, judges the whole, and writes the bundle that the other would have written.

Tables that the killed process created are left; remove them with brunt schema down.`,
		Example: "  brunt resume results/cars-20261121T101500Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			l := &loadtest.Test{Process: s.process(), Quiet: f.quiet, Language: f.language()}
			l.Hooks = func(out *loadtest.Outputs) (loadtest.Hooks, error) {
				report := f.report()
				v, err := report.Hooks(out)
				v.Result = func(run *record.Run, dir string) error {
					_, err := summary.Write(record.OS{}, dir, run)
					return errors.Join(err, report.Print(out.Out, run, dir))
				}
				return v, err
			}
			return l.Resume(args[0], s.out, s.err)
		},
	}
	f.bind(cmd, "text")
	return cmd
}
