package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/report"
)

// reportFlags are the flags of the report command.
type reportFlags struct {
	command.OutputFlags
	html    string
	against []string
}

func newReport(s *command.Env) *cobra.Command {
	f := &reportFlags{}
	cmd := newCommand("report", cobra.MinimumNArgs(1), func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			if i := slices.IndexFunc(args[dash:], func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
				return exitcode.Usage(fmt.Errorf("%s: flags stand before --; what follows it are bundles", args[dash+i]))
			}
			args, f.against = args[:dash], append(f.against, args[dash:]...)
			if len(args) == 0 {
				return exitcode.Usage(errors.New("name the bundles to set them against before --"))
			}
		}
		if err := f.Check(); err != nil {
			return err
		}
		if f.html != "" {
			return f.page(s, args)
		}
		if len(args) > 1 || len(f.against) > 0 {
			return exitcode.Usage(errors.New(
				"the result of one run is printed; name one bundle, or make a page of several with --html FILE"))
		}
		return f.one(s, args[0])
	})
	f.Bind(s, cmd, "text")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page to a file (- is standard output) instead of printing")
	cmd.Flags().StringArrayVar(&f.against, "against", nil,
		"with --html: bundles to set against the first ones, repeatable")
	return cmd
}

// one prints the result of one run.
func (f *reportFlags) one(s *command.Env, path string) error {
	b, err := record.Open(record.OS{}, path)
	if err != nil {
		return exitcode.Usage(err)
	}
	r, err := report.Open(b)
	if err != nil {
		return err
	}
	if err := f.Report().Print(s.Out, r.Run, r.Path); err != nil {
		return err
	}
	return exitcode.With(verdict.ExitCode(r.Run), nil)
}

// page writes the page about one or several runs. For one run, the exit code is that of the run.
func (f *reportFlags) page(s *command.Env, paths []string) error {
	sheet, err := report.ReadSheet(paths, f.against, tools.All().Results(), f.Language())
	if err != nil {
		return err
	}
	if err := report.WritePage(f.html, s.Out, sheet, report.Options{Language: f.Language()}); err != nil {
		return err
	}
	if !f.Quiet && f.html != "-" {
		fmt.Fprintf(s.Err, "brunt: the page is in %s\n", f.html)
	}
	if len(paths) > 1 || len(f.against) > 0 {
		return nil
	}
	return exitcode.With(verdict.ExitCode(sheet.Results[0].Run), nil)
}
