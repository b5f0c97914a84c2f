package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/k6x"
	"brunt/internal/loadtest"
	"brunt/internal/secret"
	"brunt/internal/verdict/exitcode"
)

func newK6(s *streams) *cobra.Command {
	cmd := command("k6", nil, func(_ *cobra.Command, args []string) error {
		name := "brunt k6"
		if s.dialect.tool != "" {
			name = s.dialect.tool
		}
		workers, args, err := takeWorkers(args)
		if err != nil {
			return exitcode.Usage(err)
		}
		if workers.workersFlags.Changed("workers") {
			return s.k6OverWorkers(workers, args)
		}
		if err := workers.checkWorkers(&loadtest.Record{}); err != nil {
			return exitcode.Usage(err)
		}
		s.k6(name, args)
		return nil
	})
	cmd.DisableFlagParsing = true
	return cmd
}

// k6 runs the k6 that is compiled into brunt, under a name, and ends the process.
func (s *streams) k6(name string, args []string) {
	k6x.Main(k6x.Options{Name: name, Version: s.version, Command: secret.Args(s.args, false), Err: s.err}, args)
}

// picostressCommands are the commands of Picostress, and the usual ones of every cobra program.
var picostressCommands = []string{
	"schema", "queue", "rate", "const_rps", "spike", "intervals", "compare", "report", "help", "completion", "__complete",
	"__completeNoDesc",
}

// picostressFlags are the flags of Picostress that k6 doesn't have: scripts get them as variables.
var picostressFlags = []string{"proto", "addr", "user", "password", "vu", "seed", "no-setup", "no-teardown",
	"error-threshold", "summary-dir"}

// picostressArguments returns the arguments of Picostress for brunt. If they are for k6, on which Picostress is built,
// it runs k6 and ends the process.
func picostressArguments(s *streams, args []string) []string {
	if forK6, ok := picostressToK6(args); ok {
		s.k6("picostress", forK6)
	}
	return args
}

// picostressToK6 reports whether a command line of Picostress is for k6, because its first word is no command of
// Picostress. It returns k6's arguments: each flag --name value of Picostress becomes -e name=value.
func picostressToK6(args []string) (forK6 []string, ok bool) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.Contains(picostressCommands, args[0]) {
		return nil, false
	}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if !strings.HasPrefix(args[i], "--") || !slices.Contains(picostressFlags, name) {
			forK6 = append(forK6, args[i])
			continue
		}
		switch {
		case joined:
		case strings.HasPrefix(name, "no-"):
			value = "true"
		case i+1 < len(args):
			i++
			value = args[i]
		}
		forK6 = append(forK6, "-e", strings.ReplaceAll(name, "-", "_")+"="+value)
	}
	return forK6, true
}
