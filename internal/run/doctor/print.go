package doctor

import (
	"io"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// texts returns the text and the remedy of a finding in a language, without secrets.
func (f *Finding) texts(l units.Language) (text, remedy string) {
	if !f.Remedy.IsZero() {
		remedy = secret.Text(f.Remedy.In(l))
	}
	return secret.Text(strings.ReplaceAll(f.Text.In(l), "\n", " ")), remedy
}

// JSON writes findings as JSON, with their texts in a language.
func JSON(w io.Writer, all []Finding, l units.Language) error {
	type finding struct {
		Level   string `json:"level"` // fine, note, problem or unreachable
		Subject string `json:"subject"`
		Text    string `json:"text"`
		Remedy  string `json:"remedy,omitempty"`
	}
	out := []finding{}
	for i := range all {
		text, remedy := all[i].texts(l)
		out = append(out, finding{all[i].Level.String(), all[i].Subject, text, remedy})
	}
	return cell.WriteJSON(w, out)
}

// Tables returns the table of the findings in a language.
func Tables(all []Finding, l units.Language) []cell.Table {
	t := cell.Table{ID: "doctor", Columns: []cell.Column{
		{Head: "", Left: true}, {Head: message.Label(l, "subject"), Left: true},
		{Head: message.Label(l, "finding"), Left: true},
		{Head: message.Label(l, "what to do"), Left: true},
	}}
	for i := range all {
		f := &all[i]
		sign, mark := "✔", cell.Good
		switch f.Level {
		case Note:
			sign, mark = "!", cell.Plain
		case Problem, Unreachable:
			sign, mark = "✘", cell.Bad
		}
		text, remedy := f.texts(l)
		t.Add(cell.Text(sign).Marked(mark), cell.Text(units.Clean(f.Subject)), cell.Text(units.Clean(text)),
			cell.Text(remedy))
	}
	return []cell.Table{t}
}
