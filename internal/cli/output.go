package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
)

// formFlags are the flags for the form and the language of the output.
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
		return exitcode.Usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(f.forms, ", ")))
	}
	if _, err := units.ParseLanguage(f.lang); err != nil {
		return exitcode.Usage(fmt.Errorf("--lang: %w", err))
	}
	return nil
}

// language returns the language of reports. check must have been called.
func (f *formFlags) language() units.Language {
	l, _ := units.ParseLanguage(f.lang)
	return l
}

// tables writes tables as text, md or csv.
func (f *formFlags) tables(w io.Writer, tables func(units.Language) []cell.Table) error {
	o := loadtest.Look(w)
	o.Language = f.language()
	switch f.output {
	case "md":
		return cell.WriteMarkdown(w, o.Language, tables(o.Language)...)
	case "csv":
		return cell.WriteCSV(w, tables(o.Language)...)
	}
	return cell.WriteText(w, o.Look(), tables(o.Language)...)
}

// outputFlags are the flags for the report of a run.
type outputFlags struct {
	formFlags
	quiet bool
}

func (f *outputFlags) bind(cmd *cobra.Command, usual string) {
	f.formFlags.bind(cmd.Flags(), usual, "reports", report.Formats()...)
	proposeValues(cmd, "output", report.Formats())
	proposeValues(cmd, "lang", []string{string(units.English), string(units.Russian)})
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress and no notices, only the result")
}

// report returns the options of brunt's own report of a load.
func (f *outputFlags) report() *loadtest.Report {
	return &loadtest.Report{Form: f.output, Language: f.language(), Quiet: f.quiet}
}
