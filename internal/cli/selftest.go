package cli

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/selftest"
)

func newSelftest(s *command.Env) *cobra.Command {
	var duration time.Duration
	var serve, quiet bool
	cmd := newCommand("selftest", cobra.NoArgs, func(*cobra.Command, []string) error {
		if serve {
			return selftest.Serve(s.In, s.Out)
		}
		if err := flags.Above("duration", duration); err != nil {
			return err
		}
		ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
		defer stop()
		progress := s.Err
		if quiet {
			progress = io.Discard
		}
		err := selftest.Report(ctx, s.Out, progress, duration, s.Version)
		if ctx.Err() != nil {
			return exitcode.With(exitcode.Interrupted, errors.New("interrupted; no ceiling was kept"))
		}
		return err
	})
	cmd.Flags().DurationVar(&duration, "duration", 2*time.Second, "length of each measurement")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&serve, "serve", false, "only run the servers, until standard input ends")
	_ = cmd.Flags().MarkHidden("serve")
	return cmd
}
