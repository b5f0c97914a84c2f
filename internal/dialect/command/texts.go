package command

import (
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"
)

// Texts are the files that describe commands, NAME.txt for each command: its usage, a line about it, and, if present,
// its description and examples.
type Texts struct {
	Files  fs.FS
	Folder string // of the files, in Files
}

// New returns a command that is described by the file of its name, takes the positional arguments args, and is executed
// by run.
func (t Texts) New(name string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	text, err := fs.ReadFile(t.Files, path.Join(t.Folder, name+".txt"))
	if err != nil {
		panic(err) // each command has its file
	}
	head, example, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	use, rest, _ := strings.Cut(head, "\n")
	short, long, _ := strings.Cut(rest, "\n\n")
	return &cobra.Command{
		Use: use, Short: strings.TrimSpace(short), Long: long, Example: example, Args: args, RunE: run,
	}
}

// Group returns a command that only has subcommands. The file of its name describes it.
func (t Texts) Group(name string, commands ...*cobra.Command) *cobra.Command {
	cmd := t.New(name, cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.AddCommand(commands...)
	return cmd
}
