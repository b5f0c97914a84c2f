package cli

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/cli/flags"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/selftest"
)

func newSelftest(s *streams) *cobra.Command {
	var duration time.Duration
	var serve, quiet bool
	cmd := command("selftest", cobra.NoArgs, func(*cobra.Command, []string) error {
		if serve {
			return selftest.Serve(s.in, s.out)
		}
		if err := flags.Above("duration", duration); err != nil {
			return err
		}
		ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
		defer stop()
		progress := s.err
		if quiet {
			progress = io.Discard
		}
		err := selftest.Report(ctx, s.out, progress, duration, s.version)
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
