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
)

// outputFlags say how a result is printed.
type outputFlags struct {
	output string
	quiet  bool
}

func (f *outputFlags) bind(cmd *cobra.Command, usual string) {
	cmd.Flags().StringVar(&f.output, "output", usual, "form of the result: "+strings.Join(report.Formats(), ", "))
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress and no notices, only the result")
}

func (f *outputFlags) check() error {
	if !slices.Contains(report.Formats(), f.output) {
		return usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(report.Formats(), ", ")))
	}
	return nil
}

// voice tells of a run on standard error with a line that follows it, unless quiet, and prints
// brunt's own report.
func (f *outputFlags) voice(out *outlets) (voice, error) {
	v := voice{result: func(run *record.Run, dir string) error { return f.print(out.out, run, dir) }}
	if f.quiet {
		return v, nil
	}
	filling := report.NewLoadProgress(out.err, looks(out.err))
	progress := report.NewProgress(out.err, looks(out.err))
	v.tell = runner.Listener{
		Loading: func(p load.Progress) { filling.Show(report.Filling(p)) },
		Notice:  func(w record.Warning) { progress.Note("brunt: note: " + secret.Text(w.Text)) },
		Hint:    func(h record.Hint) { progress.Note("brunt: " + report.HintText(&h)) },
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
	o.Path = dir
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
