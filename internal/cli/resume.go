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
	cmd := command("resume", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
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
	})
	f.bind(cmd, "text")
	return cmd
}
