package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
)

// brunt help groups all commands by the README's questions.
func TestCommandsAreGroupedByTheQuestionsOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(&command.Env{Args: []string{"brunt"}})
	known := map[string]bool{}
	for _, c := range root.Commands() {
		known[c.Name()] = true
	}
	for _, q := range questions() {
		own := strings.HasPrefix(q.text, "About") || strings.HasPrefix(q.text, "How do several machines")
		if !own && !strings.Contains(string(readme), q.text) {
			t.Errorf("the README doesn't ask %q", q.text)
		}
		for _, name := range q.commands {
			if !known[name] {
				t.Errorf("%q: there is no command %s", q.text, name)
			}
			if !own && !strings.Contains(string(readme), "`"+name+"`") && !strings.Contains(string(readme), "`brunt "+name+"`") {
				t.Errorf("the README doesn't name %s", name)
			}
		}
	}
}

// Under "Workers" the help of each command has only flags about workers.
func TestFlagsUnderWorkersAreAboutThem(t *testing.T) {
	workers := &cobra.Command{}
	(&command.WorkerFlags{}).Bind(workers)
	workers.Flags().Int("processes", 0, "their number, of schema up")
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, values := range f.Annotations {
				if slices.Contains(values, usage.Workers) {
					if seen++; workers.Flags().Lookup(f.Name) == nil {
						t.Errorf("%s: --%s is under Workers", c.CommandPath(), f.Name)
					}
				}
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&command.Env{Args: []string{"brunt"}}))
	if seen == 0 {
		t.Error("no command has flags about workers")
	}
}
