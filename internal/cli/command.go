package cli

import (
	"embed"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
)

// helpFiles has a file for each command; see command.Texts.
//
//go:embed help/*.txt
var helpFiles embed.FS

// helpTexts returns the descriptions of the commands.
func helpTexts() command.Texts { return command.Texts{Files: helpFiles, Folder: "help"} }

// newCommand returns a command that is described by help/<name>.txt, takes the positional arguments args, and is
// executed by run.
func newCommand(name string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	return helpTexts().New(name, args, run)
}

// newGroup returns a command that only has subcommands. help/<name>.txt describes it.
func newGroup(name string, commands ...*cobra.Command) *cobra.Command {
	return helpTexts().Group(name, commands...)
}
