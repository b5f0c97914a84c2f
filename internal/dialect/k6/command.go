package k6x

import (
	"cmp"
	"embed"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/k6/results"
	"brunt/internal/dialect/k6/script"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/scale"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares k6. The tag nok6 leaves out k6 itself. What remains says so, and reads k6's results.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "k6", Programs: []string{"k6"}, Commands: []dialect.Command{{Name: "k6", New: newK6}}, Advice: advice,
		Results:  []result.Format{results.Results()},
		Scripts:  &dialect.Scripts{Share: shareOfWorker, Exit: script.Exit},
		Embedded: &dialect.Embedded{Version: Version(), Absent: "none: built with the tag nok6"},
	}
}

// advice says how to run a script whose name stands where a command should.
func advice(word string) string {
	if ext := filepath.Ext(word); ext == ".js" || ext == ".ts" {
		return "for the script, write brunt k6 run " + word
	}
	return ""
}

// shareOfWorker runs a worker's segment of a script, and ends the process.
func shareOfWorker(s *command.Env, w *scale.Worker, stop, hard <-chan struct{}) error {
	return Share(Options{Version: s.Version, Err: s.Err}, w, stop, hard)
}

func newK6(s *command.Env) *cobra.Command {
	cmd := command.Texts{Files: helpFiles, Folder: "help"}.New("k6", nil, func(_ *cobra.Command, args []string) error {
		workers, args, err := command.TakeWorkers(args)
		if err != nil {
			return exitcode.Usage(err)
		}
		inspected, args, err := takeInspected(args)
		if err != nil {
			return exitcode.Usage(err)
		}
		if workers.Spread() {
			return overWorkers(s, workers, inspected, args)
		}
		if err := workers.CheckWorkers(&loadtest.Record{}); err != nil {
			return err
		}
		Main(Options{Name: cmp.Or(s.Program, "brunt k6"), Version: s.Version, Command: secret.Args(s.Args, false),
			Err: s.Err, Inspected: inspected}, args)
		return nil
	})
	cmd.DisableFlagParsing = true
	return cmd
}

// Run runs the k6 that is compiled into brunt, under a name, and ends the process.
func Run(s *command.Env, name string, args []string) {
	Main(Options{Name: name, Version: s.Version, Command: secret.Args(s.Args, false), Err: s.Err}, args)
}

// takeInspected removes --inspect from a command line of k6 run. Its values are checked, before k6 begins anything.
func takeInspected(args []string) (inspected, rest []string, err error) {
	if len(args) == 0 || args[0] != "run" {
		return nil, args, nil
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.StringArrayVar(&inspected, "inspect", nil, "")
	if rest, err = command.TakeFlags(fs, args); err != nil {
		return nil, nil, err
	}
	for _, text := range inspected {
		if err := servers.Check(text); err != nil {
			return nil, nil, fmt.Errorf("--inspect: %w", err)
		}
	}
	return inspected, rest, nil
}

// overWorkers distributes a script over workers.
func overWorkers(s *command.Env, f *command.WorkerFlags, inspected, args []string) error {
	load, err := script.New(args)
	if err != nil {
		return err
	}
	if err := f.CheckWorkers(&load.Record); err != nil {
		return err
	}
	load.Workers, load.Process, load.Inspected = f.Workers, s.Process(), inspected
	return load.Perform(s.In, s.Out, s.Err)
}
