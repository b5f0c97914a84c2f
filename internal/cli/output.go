package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/report"
	"brunt/internal/runner"
	"brunt/internal/schema/fill"
	"brunt/internal/secret"
	"brunt/internal/spool"
	"brunt/internal/units"
)

// formFlags say in which form and language a result is printed.
type formFlags struct {
	output, lang string
	forms        []string
}

func (f *formFlags) bind(fs *pflag.FlagSet, usual, what string, forms ...string) {
	f.forms = forms
	fs.StringVar(&f.output, "output", usual, "form of the result: "+strings.Join(forms, ", "))
	fs.StringVar(&f.lang, "lang", string(units.English), "language of "+what+": en or ru")
}

func (f *formFlags) check() error {
	if !slices.Contains(f.forms, f.output) {
		return usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(f.forms, ", ")))
	}
	if _, err := units.ParseLanguage(f.lang); err != nil {
		return usage(fmt.Errorf("--lang: %w", err))
	}
	return nil
}

// language is that of reports, which check has checked.
func (f *formFlags) language() units.Language {
	l, _ := units.ParseLanguage(f.lang)
	return l
}

// tables writes tables as text, md or csv.
func (f *formFlags) tables(w io.Writer, tables func(units.Language) []cell.Table) error {
	o := looks(w)
	o.Language = f.language()
	switch f.output {
	case "md":
		return cell.WriteMarkdown(w, o.Language, tables(o.Language)...)
	case "csv":
		return cell.WriteCSV(w, tables(o.Language)...)
	}
	return cell.WriteText(w, o.Look(), tables(o.Language)...)
}

// outputFlags say how the report of a run is printed.
type outputFlags struct {
	formFlags
	quiet bool
}

// textOutput is brunt's own report where there are no flags for it.
func textOutput(quiet bool, lang string) *outputFlags {
	return &outputFlags{formFlags{output: "text", lang: lang}, quiet}
}

func (f *outputFlags) bind(cmd *cobra.Command, usual string) {
	f.formFlags.bind(cmd.Flags(), usual, "reports", report.Formats()...)
	proposeValues(cmd, "output", report.Formats())
	proposeValues(cmd, "lang", []string{string(units.English), string(units.Russian)})
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress and no notices, only the result")
}

// hooks tells of a run on standard error with a line that follows it, unless quiet, and prints
// brunt's own report.
func (f *outputFlags) hooks(out *outputs) (hooks, error) {
	v := hooks{result: func(run *record.Run, dir string) error { return f.print(out.out, run, dir) }}
	if f.quiet {
		return v, nil
	}
	look := looks(out.err)
	look.Language = f.language()
	filling := report.NewLoadProgress(out.err, look)
	progress := report.NewProgress(out.err, look)
	v.tell = runner.Listener{
		Loading:  func(p fill.Progress) { filling.Show(report.Filling(p)) },
		Checking: filling.ShowCheck,
		Notice:   func(w record.Warning) { progress.Note("brunt: note: " + secret.Text(w.Text.String())) },
		Hint:     func(h record.Hint) { progress.Note("brunt: " + report.HintText(&h, look.Language)) },
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
	return errors.Join(drain(w), report.Write(w, f.output, run, o))
}

// looks is how text goes to w.
func looks(w io.Writer) report.Options {
	if s, ok := w.(*spool.Spool); ok {
		w = s.W
	}
	if file, ok := w.(*os.File); ok {
		return report.OptionsFor(file, os.Getenv)
	}
	return report.Options{}
}
