package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/load"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
	"brunt/internal/secret"
	"brunt/internal/units"
)

// outputFlags say how a result is printed.
type outputFlags struct {
	output string
	quiet  bool
	lang   string
}

func (f *outputFlags) bind(cmd *cobra.Command, usual string) {
	cmd.Flags().StringVar(&f.output, "output", usual, "form of the result: "+strings.Join(report.Formats(), ", "))
	cmd.Flags().StringVar(&f.lang, "lang", string(units.English), "language of reports: en or ru")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress and no notices, only the result")
}

func (f *outputFlags) check() error {
	if !slices.Contains(report.Formats(), f.output) {
		return usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(report.Formats(), ", ")))
	}
	if _, err := units.ParseLanguage(f.lang); err != nil {
		return usage(fmt.Errorf("--lang: %w", err))
	}
	return nil
}

// language is that of reports, which check has checked.
func (f *outputFlags) language() units.Language {
	l, _ := units.ParseLanguage(f.lang)
	return l
}

// voice tells of a run on standard error with a line that follows it, unless quiet, and prints
// brunt's own report.
func (f *outputFlags) voice(out *outlets) (voice, error) {
	v := voice{result: func(run *record.Run, dir string) error { return f.print(out.out, run, dir) }}
	if f.quiet {
		return v, nil
	}
	look := looks(out.err)
	look.Language = f.language()
	filling := report.NewLoadProgress(out.err, look)
	progress := report.NewProgress(out.err, look)
	v.tell = runner.Listener{
		Loading: func(p load.Progress) { filling.Show(report.Filling(p)) },
		Notice:  func(w record.Warning) { progress.Note("brunt: note: " + secret.Text(w.Text)) },
		Hint:    func(h record.Hint) { progress.Note("brunt: " + report.HintText(&h, look.Language)) },
	}
	v.sinks = []measure.Sink{progress}
	v.began = func(run *record.Run) {
		filling.Done()
		progress.Start(run)
	}
	v.ended = progress.Done
	return v, nil
}

// print writes a run in the chosen form.
func (f *outputFlags) print(w io.Writer, run *record.Run, dir string) error {
	o := looks(w)
	o.Path, o.Language = dir, f.language()
	return errors.Join(summary(w), report.Write(w, f.output, run, o))
}

// looks is how text goes to w.
func looks(w io.Writer) report.Options {
	if s, ok := w.(*spool); ok {
		w = s.w
	}
	if file, ok := w.(*os.File); ok {
		return report.OptionsFor(file, os.Getenv)
	}
	return report.Options{}
}
