package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// question is a question of the README, and the commands that answer it.
type question struct {
	text     string
	commands []string
}

// questions returns the groups of brunt help, in their order. Commands of tools belong to the first.
func questions() []question {
	return []question{
		{"What happens under this load?", []string{"run", "rate", "spike", "queue", "http", "convert", "resume"}},
		{"What did a run show?", []string{"report", "export", "merge"}},
		{"Can this plan be run from here?", []string{"doctor", "schema", "selftest"}},
		{"How much can it take?", []string{"search", "matrix"}},
		{"How sure is that, and did it change?", []string{"repeat", "intervals", "compare", "history"}},
		{"What did the database do during the load, and which index helps?", []string{"advise"}},
		{"Is what it acknowledged still there, after all that was done to it?", []string{"verify"}},
		{"All of this in one programme, with a document at the end", []string{"campaign"}},
		{"How do several machines take part?", []string{"worker", "ticket"}},
		{"About this program", []string{"help", "version", "completion"}},
	}
}

// groupByQuestion groups the commands below root by the questions that they answer.
func groupByQuestion(root *cobra.Command) {
	all := questions()
	for _, q := range all {
		root.AddGroup(&cobra.Group{ID: q.text, Title: q.text})
	}
	for _, c := range root.Commands() {
		c.GroupID = all[0].text
		for _, q := range all {
			if slices.Contains(q.commands, c.Name()) {
				c.GroupID = q.text
			}
		}
	}
}
