package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan/planfile"
)

// newConvert returns the command that prints the plan which another command would run.
func newConvert(s *command.Env) *cobra.Command {
	cmd := newCommand("convert", nil, nil)
	cmd.DisableFlagParsing = true // the flags are those of the other command
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exitcode.Usage(errors.New("nothing to convert; name a file or a command that sends a load: see brunt convert --help"))
		}
		if slices.Contains([]string{"-h", "--help", "--" + usage.HelpAll}, args[0]) {
			return cmd.Help()
		}
		rest, err := converted(s, tools.All(), args)
		if err != nil {
			return exitcode.Usage(err)
		}
		other := *s
		other.Args, other.Program, other.PlanOnly = append([]string{"brunt"}, rest...), "", true
		return executeLine(&other, rest)
	}
	return cmd
}

// converted returns the command line whose plan is to be printed. args is such a command line, or begins with the name
// of a file or of a tool's program.
func converted(s *command.Env, linked dialect.Tools, args []string) ([]string, error) {
	for len(args) > 1 && (args[0] == "brunt" || args[0] == asCommand || args[0] == "--") {
		args = args[1:]
	}
	name := args[0]
	switch {
	case commands()[name] != nil, linked.Command(name) != nil, len(name) > 1 && name[0] == '-':
		return args, nil
	case name == "-", strings.Contains(name, "://") && !strings.Contains(name, " "):
		return append([]string{httpCommand}, args...), nil
	}
	text, err := command.ReadFile(name)
	if err == nil {
		if line := linked.File(name, text); line != nil {
			return append(line, args[1:]...), nil
		}
	}
	// A file may have a program's name with an ending, such as pgbench.yml, or a script that calls it, pgbench.sh.
	script := err == nil && shellScript(linked, name, text)
	if tool, program := linked.Called(name); program != "" && (executable(name) && !script || err != nil && !typed(name)) {
		return tool.Brunt(s, program, args[1:]), nil
	}
	if ext := filepath.Ext(name); ext == ".js" || ext == ".ts" {
		return nil, fmt.Errorf("%s is a script, which decides as it runs what to send, so it has no plan; run it as it is: brunt k6 run %s",
			name, name)
	}
	if err != nil {
		if strings.Contains(name, " ") && isToolLine(linked, &shellCommand{words: strings.Fields(name)}) {
			return convertedLine(s, linked, "the command line", name, args[1:])
		}
		return nil, fmt.Errorf("%w; name a file or a command that sends a load: see brunt convert --help", err)
	}
	return convertedFile(s, linked, text, args)
}

// convertedFile returns the command line for a file that only its text can tell.
func convertedFile(s *command.Env, linked dialect.Tools, text []byte, args []string) ([]string, error) {
	name := args[0]
	if _, err := planfile.Read(name, text); err == nil {
		return append([]string{"run"}, args...), nil
	}
	if advice := linked.Instead(name, text); advice != "" {
		return nil, errors.New(advice)
	}
	if _, mapping := strings.CutPrefix(filepath.Ext(name), ".y"); mapping {
		return append([]string{"run"}, args...), nil
	}
	if shellScript(linked, name, text) {
		return convertedLine(s, linked, name, string(text), args[1:])
	}
	return append([]string{httpCommand}, args...), nil
}

// typed reports whether a name ends like that of a file, as in pgbench.sql, and not like that of a program.
func typed(name string) bool { return typedName().MatchString(filepath.Base(name)) }

// typedName matches an ending that is no version.
var typedName = lazyregexp.New(`\.[a-z][a-z0-9]*$`)

// executable reports whether a file is a program.
func executable(name string) bool {
	info, err := os.Stat(name)
	return filepath.Ext(name) == ".exe" || err == nil && info.Mode().Perm()&0o111 != 0
}

// havePlan returns an error for a command that runs no plan.
func havePlan(cmd *cobra.Command) error {
	if command.Plans(cmd) {
		return nil
	}
	return exitcode.Usage(fmt.Errorf("%s doesn't send one load that a plan describes; convert one of these: %s",
		cmd.CommandPath(), strings.Join(plannedCommands(), ", ")))
}

// plannedCommands returns the names of the commands that run a plan.
func plannedCommands() (names []string) {
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		if command.Plans(c) {
			names = append(names, c.CommandPath())
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(newRoot(&command.Env{Args: []string{"brunt"}}))
	slices.Sort(names)
	return names
}
