package cli

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
)

// Each file of help describes one command, and the usage in it begins with the command's name.
func TestHelpTextsHaveCommands(t *testing.T) {
	found := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "brunt ")
		found[strings.ReplaceAll(name, " ", "-")] = true
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&command.Env{}))
	for _, tool := range tools.All() {
		for _, c := range tool.Commands {
			if got := c.New(&command.Env{}).Name(); got != c.Name {
				t.Errorf("the command %q is declared as %q", got, c.Name)
			}
		}
	}
	for name, construct := range commands() {
		if got := construct(&command.Env{}).Name(); got != name {
			t.Errorf("the command %q is in the table as %q", got, name)
		}
	}
	files, err := fs.Glob(helpFiles, "help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".txt"); !found[name] {
			t.Errorf("%s: there is no command %q", file, name)
		}
	}
}
