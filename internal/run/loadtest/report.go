package loadtest

import (
	"errors"
	"io"
	"os"

	"brunt/internal/base/secret"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/report/spool"
	"brunt/internal/run/runner"
	"brunt/internal/server/schema/fill"
)

// Report configures brunt's own report of a load and the progress line during the load.
type Report struct {
	Form     string          // one of report.Formats or More; "" means "brief" on a terminal and "text" elsewhere
	More     []report.Format // forms of other tools
	Language units.Language  // "" means English
	Quiet    bool            // no progress line and no notices
}

// Hooks returns hooks that print the progress of the run on standard error, unless Quiet is set, and brunt's own report
// at the end.
func (f *Report) Hooks(out *Outputs) (runner.Hooks, error) {
	v := runner.Hooks{Result: func(run *record.Run, dir string) error { return f.Print(out.Out, run, dir) }}
	if f.Quiet {
		return v, nil
	}
	look := Look(out.Err)
	look.Language = f.Language
	filling := report.NewLoadProgress(out.Err, look)
	progress := report.NewProgress(out.Err, look)
	v.Loading = func(p fill.Progress) { filling.Show(report.Filling(p)) }
	v.Checking = filling.ShowCheck
	v.Notice = func(w record.Warning) { progress.Note("brunt: note: " + secret.Text(w.Text.String())) }
	v.Hint = func(h record.Hint) { progress.Note("brunt: " + report.HintText(&h, look.Language)) }
	v.Sinks = []measure.Sink{progress}
	v.Began = func(run *record.Run) {
		filling.Done()
		progress.Start(run)
	}
	v.Ended = progress.Done
	return v, nil
}

// Print writes the report of a run in the form Form.
func (f *Report) Print(w io.Writer, run *record.Run, dir string) error {
	o := Look(w)
	o.Path, o.Language = dir, f.Language
	form := f.Form
	switch {
	case form != "":
	case o.Live:
		form = "brief"
	default:
		form = "text"
	}
	return errors.Join(Drain(w), report.Write(w, form, run, o, f.More...))
}

// Look returns the options for text on w: its width and colors.
func Look(w io.Writer) report.Options {
	if s, ok := w.(*spool.Spool); ok {
		w = s.W
	}
	if file, ok := w.(*os.File); ok {
		return report.OptionsFor(file, os.Getenv)
	}
	return report.Options{}
}
