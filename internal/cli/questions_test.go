package cli

import (
	"os"
	"strings"
	"testing"

	"brunt/internal/dialect/command"
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
