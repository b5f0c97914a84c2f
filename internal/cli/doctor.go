package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/doctor"
	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/render/cell"
	"brunt/internal/render/texts"
	"brunt/internal/secret"
	"brunt/internal/units"
)

func newDoctor(s *streams) *cobra.Command {
	f := &planFlags{}
	var form formFlags
	cmd := &cobra.Command{
		Use:   "doctor PLAN",
		Short: "Look whether a plan can be run from here, without sending its load",
		Long: `Look whether a plan can be run from here: is every address reachable, with which version; is there
room for the sessions, in the server's limits and in this process's; do the clocks agree; may the user
make the tables; does each statement work. Statements are tried once each in a transaction that is
rolled back, on servers that have such; on others none is sent.

Each finding has what to do about it. The exit code is that of the worst: 108 if an address can't be
reached, 104 if something else stands in the way of the load, 0 otherwise.`,
		Example: "  brunt doctor examples/cars.yml --proto pg -a 127.0.0.1:5432 -u stress",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := form.check(); err != nil {
				return err
			}
			p, err := f.read(s, args)
			if err != nil {
				return err
			}
			ctx, _, stop := loadtest.Interruptible(s.err, loadtest.Endings(false))
			defer stop()
			all, err := doctor.Examine(ctx, p, s.flags["sessions"], nil)
			if err != nil {
				return loadtest.Failure(ctx, err)
			}
			if err := printFindings(s.out, all, &form); err != nil {
				return err
			}
			switch doctor.Worst(all) {
			case doctor.Unreachable:
				return exitcode.With(exitcode.Unreachable, nil)
			case doctor.Problem:
				return exitcode.With(exitcode.BadPlan, nil)
			}
			return nil
		},
	}
	f.bind(cmd)
	form.bind(cmd.Flags(), "text", "findings", "text", "md", "csv", "json")
	return cmd
}

// printFindings writes findings in the chosen form, without secrets.
func printFindings(w io.Writer, all []doctor.Finding, form *formFlags) error {
	say := func(f *doctor.Finding, l units.Language) (text, remedy string) {
		if !f.Remedy.IsZero() {
			remedy = secret.Text(f.Remedy.In(l))
		}
		return secret.Text(strings.ReplaceAll(f.Text.In(l), "\n", " ")), remedy
	}
	if form.output == "json" {
		type finding struct {
			Level   string `json:"level"` // fine, note, problem or unreachable
			Subject string `json:"subject"`
			Text    string `json:"text"`
			Remedy  string `json:"remedy,omitempty"`
		}
		out := []finding{}
		for i := range all {
			text, remedy := say(&all[i], form.language())
			out = append(out, finding{all[i].Level.String(), all[i].Subject, text, remedy})
		}
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(out)
	}
	return form.tables(w, func(l units.Language) []cell.Table {
		t := cell.Table{ID: "doctor", Columns: []cell.Column{
			{Head: "", Left: true}, {Head: texts.In(l, "subject"), Left: true}, {Head: texts.In(l, "finding"), Left: true},
			{Head: texts.In(l, "what to do"), Left: true},
		}}
		for i := range all {
			f := &all[i]
			sign, mark := "✔", cell.Good
			switch f.Level {
			case doctor.Note:
				sign, mark = "!", cell.Plain
			case doctor.Problem, doctor.Unreachable:
				sign, mark = "✘", cell.Bad
			}
			text, remedy := say(f, l)
			t.Add(cell.Text(sign).Marked(mark), cell.Text(units.Clean(f.Subject)), cell.Text(units.Clean(text)),
				cell.Text(remedy))
		}
		return []cell.Table{t}
	})
}
