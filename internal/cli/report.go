package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/compare"
	"brunt/internal/confidence"
	"brunt/internal/exitcode"
	"brunt/internal/failover"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/render/texts"
	"brunt/internal/report"
	"brunt/internal/secret"
	"brunt/internal/timeline"
	"brunt/internal/verdict"
)

// reportFlags say what is reported of recorded runs.
type reportFlags struct {
	outputFlags
	html    string
	against []string
}

func newReport(s *streams) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report BUNDLE… [-- BUNDLE…]",
		Short: "Print the result of a run from its bundle, also of one that was killed, or make a page of runs",
		Long: `Print the result of a run from its bundle. Of a run that was killed everything up to its last
interval is there; the exit code is the one that the run would have had. Of one that is still under
way it says so, and gives no verdict.

With --html it writes a page instead: one file with charts to explore, which needs no network. It
shows one run, a series of runs, or runs against others: those after --, or of --against.`,
		Example: "  brunt report results/cars-20261121T101500Z\n  brunt report results/cars-20261121T101500Z --output json\n" +
			"  brunt report results/cars-20261121T101500Z --html cars.html\n  brunt report --html change.html results/before-* -- results/after-*",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				if i := slices.IndexFunc(args[dash:], func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
					return exitcode.Usage(fmt.Errorf("%s: flags stand before --; what follows it are bundles", args[dash+i]))
				}
				args, f.against = args[:dash], append(f.against, args[dash:]...)
				if len(args) == 0 {
					return exitcode.Usage(errors.New("name the bundles to set them against before --"))
				}
			}
			if err := f.check(); err != nil {
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
		},
	}
	f.bind(cmd, "text")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page to a file (- is standard output) instead of printing")
	cmd.Flags().StringArrayVar(&f.against, "against", nil,
		"with --html: bundles to set against the first ones, repeatable")
	return cmd
}

// one prints the result of one run.
func (f *reportFlags) one(s *streams, path string) error {
	r, err := readRun(path, nil)
	if err != nil {
		return err
	}
	if err := f.report().Print(s.out, r.Run, r.Path); err != nil {
		return err
	}
	return exitcode.With(verdict.ExitCode(r.Run), nil)
}

// page writes the page of some runs. Of one run the exit code is its own.
func (f *reportFlags) page(s *streams, paths []string) error {
	sheet := &report.Sheet{}
	for _, side := range []struct {
		paths []string
		to    *[]report.Result
	}{{paths, &sheet.Results}, {f.against, &sheet.Against}} {
		for _, path := range side.paths {
			t := timeline.New(0)
			t.Part(report.MostParts)
			r, err := readRun(path, t)
			if err != nil {
				return err
			}
			r.Timeline = t
			*side.to = append(*side.to, *r)
		}
	}
	if err := f.compared(sheet, paths); err != nil {
		return err
	}
	o := report.Options{Language: f.language()}
	if err := writeFile(s.out, f.html, func(w io.Writer) error { return report.HTML(w, sheet, o) }); err != nil {
		return fmt.Errorf("the page can't be written to %s: %w", f.html, err)
	}
	if !f.quiet && f.html != "-" {
		fmt.Fprintf(s.err, "brunt: the page is in %s\n", f.html)
	}
	if len(paths) > 1 || len(f.against) > 0 {
		return nil
	}
	return exitcode.With(verdict.ExitCode(sheet.Results[0].Run), nil)
}

// compared puts what a comparison says of several runs onto their page, or why there is none.
func (f *reportFlags) compared(s *report.Sheet, paths []string) error {
	if len(paths)+len(f.against) < 2 {
		return nil
	}
	base, err := readResults(paths)
	others, err2 := readResults(f.against)
	if err := errors.Join(err, err2); err != nil {
		return exitcode.Usage(err)
	}
	switch {
	case len(others) > 0:
		var c *compare.Comparison
		if c, err = compare.Runs(base, others, compare.Options{}); err == nil {
			s.Tables = c.Tables(f.language())
			s.Verdict, s.Mark, s.Reasons, s.Changes = string(c.Verdict), c.Mark(), c.Reasons(f.language()), c.Chart(f.language())
		}
	default:
		var all *compare.Summary
		if all, err = compare.Intervals(base, compare.Options{}); err == nil {
			s.Tables = all.Tables(f.language())
		}
	}
	var refused *compare.Refused
	if errors.As(err, &refused) {
		s.Remarks = append(s.Remarks, texts.In(f.language(), "The runs are not compared: %s.",
			message.Sentences(refused.Reasons...).In(f.language())))
		return nil
	}
	return err
}

// readRun reads a run from its bundle and judges it if its end couldn't. What happened over time goes
// into sink, if there is one.
func readRun(path string, sink measure.Sink) (*report.Result, error) {
	bundle, err := record.Open(record.OS{}, path)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	run, sums, err := bundle.Result()
	if err != nil {
		return nil, err
	}
	if bundle.Live() {
		// Thresholds and the verdict are for its end.
		run.Thresholds, run.Warnings = nil, append(run.Warnings, verdict.UnderWay(run))
	} else if sums != nil {
		if err := failover.Fill(run, bundle.Intervals); err != nil {
			return nil, err
		}
		if err := verdict.FillWindows(run, bundle.Intervals); err != nil {
			return nil, err
		}
		verdict.Judge(run, sums.Total())
	}
	if run.Total.RateWithin == nil {
		if err := confidence.Fill(run, bundle.Intervals); err != nil {
			return nil, err
		}
	}
	r := &report.Result{Run: run, Path: bundle.Dir}
	if sink != nil {
		if err := bundle.Intervals(sink.Interval); err != nil {
			return nil, err
		}
	}
	if run.Complete {
		run.Warnings = append(run.Warnings, bundle.Damage()...)
	}
	if sink == nil {
		return r, nil
	}
	// A bundle without its plan is still worth a page.
	text, _ := bundle.Plan()
	r.Plan = []byte(secret.Text(string(text)))
	r.Machines, err = report.Machines(bundle)
	return r, err
}

// writeFile writes a file so that it is there whole or not at all; - is standard output.
func writeFile(stdout io.Writer, path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(stdout)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".brunt-*")
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		// What was begun is of no use to anybody.
		_ = os.Remove(file.Name())
	}
	return err
}
