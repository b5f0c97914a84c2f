package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/flags"
	"brunt/internal/loadtest"
	"brunt/internal/record"
	"brunt/internal/selftest"
	"brunt/internal/verdict/exitcode"
)

func newSelftest(s *streams) *cobra.Command {
	var duration time.Duration
	var serve, quiet bool
	cmd := command("selftest", cobra.NoArgs, func(*cobra.Command, []string) error {
		if serve {
			return serveSelftest(s)
		}
		if err := flags.Above("duration", duration); err != nil {
			return err
		}
		return runSelftest(s, duration, quiet)
	})
	cmd.Flags().DurationVar(&duration, "duration", 2*time.Second, "length of each measurement")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&serve, "serve", false, "only run the servers, until standard input ends")
	_ = cmd.Flags().MarkHidden("serve")
	return cmd
}

// serveSelftest runs the built-in servers and prints their addresses.
func serveSelftest(s *streams) error {
	servers, err := selftest.Listen()
	if err != nil {
		return err
	}
	defer servers.Close()
	for _, p := range selftest.Protocols() {
		fmt.Fprintln(s.out, p, servers.Addresses[p])
	}
	_, err = io.Copy(io.Discard, s.in)
	return err
}

func runSelftest(s *streams, duration time.Duration, quiet bool) error {
	ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
	defer stop()
	addresses, end, err := selftest.StartServers()
	if err != nil {
		return err
	}
	defer end()
	cores := runtime.NumCPU()
	o := selftest.Options{Addresses: addresses, Duration: duration, Cores: cores, Version: s.version}
	if !quiet {
		total, n := selftest.Count(cores), 0
		fmt.Fprintf(s.err, "brunt: %d measurements of %v\n", total, duration)
		o.Done = func(r selftest.Row) {
			n++
			fmt.Fprintf(s.err, "brunt: %d of %d: %s, %.0f/s\n", n, total, r.Protocol, r.PerS)
		}
	}
	rows, err := selftest.Run(ctx, o)
	if ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, errors.New("interrupted; no ceiling was kept"))
	}
	if err != nil {
		return err
	}
	e := record.Fingerprint()
	path, err := selftest.Keep(rows, &e, s.version)
	if printed := selftest.Print(s.out, rows, &e, path); err == nil {
		err = printed
	}
	return err
}
