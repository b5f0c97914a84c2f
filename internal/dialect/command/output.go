package command

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

// FormFlags are the flags for the form and the language of the output.
type FormFlags struct {
	Output, Lang string
	forms        []string
}

// Bind binds the flags to a flag set. what is in the language of --lang; forms are the forms of the result, usual the
// default.
func (f *FormFlags) Bind(fs *pflag.FlagSet, usual, what string, forms ...string) {
	f.forms = forms
	fs.StringVar(&f.Output, "output", usual, formOfResult+strings.Join(forms, ", "))
	fs.StringVar(&f.Lang, "lang", string(units.English), "language of "+what+": en or ru")
}

const formOfResult = "form of the result: "

// IsForm reports whether a flag is the one for the form of the output, and not a tool's own flag of the same name.
func IsForm(flag *pflag.Flag) bool { return strings.HasPrefix(flag.Usage, formOfResult) }

// Check returns an error for a form or language that there isn't.
func (f *FormFlags) Check() error {
	if !slices.Contains(f.forms, f.Output) {
		return exitcode.Usage(fmt.Errorf("--output %s: use %s", f.Output, strings.Join(f.forms, ", ")))
	}
	if _, err := units.ParseLanguage(f.Lang); err != nil {
		return exitcode.Usage(fmt.Errorf("--lang: %w", err))
	}
	return nil
}

// Language returns the language of reports. Check must have been called.
func (f *FormFlags) Language() units.Language {
	l, _ := units.ParseLanguage(f.Lang)
	return l
}

// Tables writes tables as text, md or csv.
func (f *FormFlags) Tables(w io.Writer, tables func(units.Language) []cell.Table) error {
	o := loadtest.Look(w)
	o.Language = f.Language()
	switch f.Output {
	case "md":
		return cell.WriteMarkdown(w, o.Language, tables(o.Language)...)
	case "csv":
		return cell.WriteCSV(w, tables(o.Language)...)
	}
	return cell.WriteText(w, o.Look(), tables(o.Language)...)
}

// OutputFlags are the flags for the report of a run.
type OutputFlags struct {
	FormFlags
	Quiet bool
	more  []report.Format
	given func(flag string) bool // whether a flag was given
}

// Bind binds the flags to a command. usual is the default form of the report.
func (f *OutputFlags) Bind(s *Env, cmd *cobra.Command, usual string) {
	f.more = s.Reports
	var names []string
	for _, form := range append(report.Formats(), f.more...) {
		names = append(names, form.Name)
	}
	f.FormFlags.Bind(cmd.Flags(), usual, "reports", names...)
	f.given = cmd.Flags().Changed
	ProposeValues(cmd, "output", names)
	ProposeValues(cmd, "lang", []string{string(units.English), string(units.Russian)})
	cmd.Flags().BoolVar(&f.Quiet, "quiet", false, "no progress and no notices, only the result")
}

// Report returns the options of brunt's own report of a load.
func (f *OutputFlags) Report() *loadtest.Report {
	return &loadtest.Report{Form: f.Output, More: f.more, Language: f.Language(), Quiet: f.Quiet}
}

// Fitting returns the options of the report of one load, which on a terminal is brief unless another form was asked
// for.
func (f *OutputFlags) Fitting() *loadtest.Report {
	r := f.Report()
	if r.Form == "text" && !f.given("output") {
		r.Form = ""
	}
	return r
}
