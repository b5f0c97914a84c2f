package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
)

// asCommand is the command that runs another tool's command line.
const asCommand = "as"

func newAs(s *command.Env) *cobra.Command {
	cmd := newCommand(asCommand, nil, func(cmd *cobra.Command, args []string) error {
		programs := strings.Join(tools.All().Programs(), ", ")
		if len(args) == 0 {
			return exitcode.Usage(fmt.Errorf("name a tool: %s", programs))
		}
		if slices.Contains([]string{"-h", "--help"}, args[0]) {
			return cmd.Help()
		}
		// The command line of the process is also that of the tool. args may have lost what brunt's own commands share.
		line := s.Args[slices.Index(s.Args, asCommand)+1:]
		if _, program := tools.All().Called(line[0]); program == "" {
			return exitcode.Usage(fmt.Errorf("brunt replaces no %q; write one of: %s", line[0], programs))
		}
		return exitcode.With(Main(s.Version, line, s.In, s.Out, s.Err), nil)
	})
	cmd.DisableFlagParsing = true
	cmd.ValidArgsFunction = cobra.FixedCompletions(tools.All().Programs(), cobra.ShellCompDirectiveNoFileComp)
	return cmd
}
