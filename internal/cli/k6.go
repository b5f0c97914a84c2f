package cli

import (
	"cmp"
	"github.com/spf13/cobra"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/k6"
	"brunt/internal/dialect/picostress"
	"brunt/internal/judge/exitcode"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/loadtest/script"
)

func newK6(s *streams) *cobra.Command {
	cmd := command("k6", nil, func(_ *cobra.Command, args []string) error {
		workers, args, err := takeWorkers(args)
		if err != nil {
			return exitcode.Usage(err)
		}
		if workers.workersFlags.Changed("workers") {
			return s.k6OverWorkers(workers, args)
		}
		if err := workers.checkWorkers(&loadtest.Record{}); err != nil {
			return err
		}
		s.k6(cmp.Or(s.dialect.tool, "brunt k6"), args)
		return nil
	})
	cmd.DisableFlagParsing = true
	return cmd
}

// k6 runs the k6 that is compiled into brunt, under a name, and ends the process.
func (s *streams) k6(name string, args []string) {
	k6x.Main(k6x.Options{Name: name, Version: s.version, Command: secret.Args(s.args, false), Err: s.err}, args)
}

// picostressArguments returns the arguments of Picostress for brunt. If they are for k6, on which Picostress is built,
// it runs k6 and ends the process.
func picostressArguments(s *streams, args []string) []string {
	if forK6, ok := picostress.ToK6(args); ok {
		s.k6("picostress", forK6)
	}
	return args
}

// k6OverWorkers distributes a script over workers.
func (s *streams) k6OverWorkers(f *workerFlags, args []string) error {
	load, err := script.New(args)
	if err != nil {
		return err
	}
	if err := f.checkWorkers(&load.Record); err != nil {
		return err
	}
	load.Workers, load.Process = f.workers, s.process()
	return load.Perform(s.in, s.out, s.err)
}
