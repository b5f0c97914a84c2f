package cli

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/slowcooker"
)

// exitCookUsage is what slow_cooker returns for a bad command line.
const exitCookUsage = 64

func newCook(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cook [flags] <url | @file | @->",
		Short: "Load an HTTP service for as long as you like and report as it goes (slow_cooker's flags)",
		Long: `Load an HTTP service at a steady rate, for minutes or weeks, and print a line every interval. The
flags and lines are slow_cooker's; called by that name brunt takes its place. Latency counts from
the moment at which a request was meant to start.`,
		Example:            "  brunt cook -qps 50 -concurrency 10 http://127.0.0.1:8080/",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return cook(s, args) },
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { slowcooker.Usage(cmd.OutOrStdout(), "brunt cook") })
	return cmd
}

// cook runs a command line of slow_cooker.
func cook(s *streams, args []string) error {
	name, summary := "brunt cook", "report"
	replacing := filepath.Base(s.args[0]) == "slow_cooker"
	if replacing {
		name, summary = "slow_cooker", ""
	}
	o, err := slowcooker.Parse(args, s.in, summary)
	switch {
	case errors.Is(err, slowcooker.ErrHelp) && replacing:
		slowcooker.Usage(s.err, name)
		return &exitError{code: exitCookUsage}
	case errors.Is(err, slowcooker.ErrHelp):
		slowcooker.Usage(s.out, name)
		return nil
	case err != nil:
		return cookUsage(err, replacing)
	}
	c := &cooking{s: s, o: o, replacing: replacing}
	err = c.run()
	var e *exitError
	if errors.As(err, &e) && e.code == exitBadPlan {
		return cookUsage(e.err, replacing)
	}
	return err
}

// cookUsage marks an error as the user's, with the exit code of the name that was called.
func cookUsage(err error, replacing bool) error {
	if replacing {
		return &exitError{exitCookUsage, err}
	}
	return usage(err)
}
