package cli

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpTexts has a file for each command: its usage, a line about it, and, if present, its description and examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// command returns a command that is described by help/<name>.txt, takes the positional arguments args, and is executed
// by run.
func command(name string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // each command of newRoot has its file
	}
	head, example, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	use, rest, _ := strings.Cut(head, "\n")
	short, long, _ := strings.Cut(rest, "\n\n")
	return &cobra.Command{
		Use: use, Short: strings.TrimSpace(short), Long: long, Example: example, Args: args, RunE: run,
	}
}

// group returns a command that only has subcommands. help/<name>.txt describes it.
func group(name string, commands ...*cobra.Command) *cobra.Command {
	cmd := command(name, cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.AddCommand(commands...)
	return cmd
}
