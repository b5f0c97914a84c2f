package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/s3"
)

func newMerge(s *command.Env) *cobra.Command {
	f := &command.OutputFlags{}
	var dir string
	cmd := newCommand("merge", func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && strings.HasPrefix(args[0], s3.Scheme) { // the prefix may contain several bundles
			return nil
		}
		return cobra.MinimumNArgs(2)(cmd, args)
	}, func(_ *cobra.Command, args []string) error {
		if err := f.Check(); err != nil {
			return err
		}
		if dir == "" {
			return exitcode.Usage(errors.New("name the folder of the merged run with --bundle"))
		}
		parts, remove, err := loadtest.OpenParts(args)
		defer remove()
		if err != nil {
			return err
		}
		run, err := loadtest.Join(dir, parts, func(*record.Run) {})
		if run == nil {
			return err
		}
		if err := errors.Join(err, f.Report().Print(s.Out, run, dir)); err != nil {
			return err
		}
		return exitcode.With(verdict.ExitCode(run), nil)
	})
	f.Bind(s, cmd, "text")
	cmd.Flags().StringVar(&dir, "bundle", "", "folder of the merged run: new or empty")
	return cmd
}
