package cli

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each file of help describes one command, and the usage in it begins with the command's name.
func TestHelpTextsHaveCommands(t *testing.T) {
	commands := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "brunt ")
		commands[strings.ReplaceAll(name, " ", "-")] = true
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&streams{args: []string{"brunt"}}))
	files, err := fs.Glob(helpTexts, "help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".txt"); !commands[name] {
			t.Errorf("%s: there is no command %q", file, name)
		}
	}
}
