package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

func newCompare(s *command.Env) *cobra.Command {
	f := &resultFlags{}
	cmd := newCommand("compare", cobra.MinimumNArgs(2), func(cmd *cobra.Command, args []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		dash := cmd.ArgsLenAtDash()
		if dash < 0 && len(args) == 2 {
			dash = 1
		}
		if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
			return exitcode.Usage(fmt.Errorf("%s: flags stand before the base's runs; what follows -- are the candidate's", args[i]))
		}
		if dash < 1 || dash == len(args) {
			return exitcode.Usage(errors.New("write the base's runs, --, and the candidate's runs; see brunt compare --help"))
		}
		base, err := readResults(args[:dash])
		candidate, err2 := readResults(args[dash:])
		if err := errors.Join(err, err2); err != nil {
			return exitcode.Usage(err)
		}
		c, err := compare.Runs(base, candidate, o)
		if err != nil {
			return compare.Refusal(err)
		}
		code := exitcode.Pass
		if c.Verdict == compare.Regression {
			code = exitcode.Regression
		}
		return exitcode.With(code, f.printComparison(s, c, code, base, candidate))
	})
	f.bind(cmd, "text", "json", "md", "csv", "junit", "benchfmt")
	return cmd
}

func (f *resultFlags) printComparison(s *command.Env, c *compare.Comparison, code int, base,
	candidate []*result.Result) error {
	switch f.Output {
	case "json":
		return c.JSON(s.Out, code)
	case "junit":
		return c.JUnit(s.Out)
	case "benchfmt":
		return compare.Benchfmt(s.Out, base, candidate)
	case "csv":
		warn(s, c.Warnings)
		return c.CSV(s.Out)
	}
	return f.Tables(s.Out, c.Tables)
}

// warn writes warnings about results to standard error, because machine-readable forms have no place for them.
func warn(s *command.Env, warnings []message.Message) {
	for _, w := range warnings {
		fmt.Fprintf(s.Err, "brunt: note: %s\n", w)
	}
}

// resultFlags are the flags that determine how results are compared and printed.
type resultFlags struct {
	command.FormFlags
	confidence float64
	tolerances []string
	anyway     bool
}

func (f *resultFlags) bind(cmd *cobra.Command, forms ...string) {
	fs := cmd.Flags()
	f.FormFlags.Bind(fs, "text", "tables", forms...)
	fs.Float64VarP(&f.confidence, "confidence", "p", 95, "confidence of intervals in per cent")
	fs.StringArrayVar(&f.tolerances, "tolerance", nil,
		"change that doesn't matter: 5%, or METRIC=5% (rate, count, errors, response, response.p(99), …; repeatable)")
	fs.BoolVar(&f.anyway, "anyway", false,
		"take runs also where that means little: invalid ones, of different plans or machines")
}

func (f *resultFlags) options() (compare.Options, error) {
	if err := f.Check(); err != nil {
		return compare.Options{}, err
	}
	if !(f.confidence >= 50 && f.confidence < 100) {
		return compare.Options{},
			exitcode.Usage(fmt.Errorf("--confidence %g: give a percentage from 50 to below 100, such as 95", f.confidence))
	}
	tolerances, err := compare.ParseTolerances(f.tolerances)
	if err != nil {
		return compare.Options{}, exitcode.Usage(fmt.Errorf("--tolerance: %w", err))
	}
	return compare.Options{Confidence: f.confidence / 100, Tolerances: tolerances, Anyway: f.anyway}, nil
}

// readResults reads all results. Its error contains the errors of all of them.
func readResults(paths []string) ([]*result.Result, error) {
	all, err := reader.ReadAll(record.OS{}, paths, tools.All().Results())
	return all, exitcode.Usage(err)
}

func newIntervals(s *command.Env) *cobra.Command {
	f := &resultFlags{}
	cmd := newCommand("intervals", cobra.MinimumNArgs(1), func(_ *cobra.Command, args []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		runs, err := readResults(args)
		if err != nil {
			return err
		}
		summary, err := compare.Intervals(runs, o)
		if err != nil {
			return compare.Refusal(err)
		}
		switch f.Output {
		case "json":
			return summary.JSON(s.Out)
		case "csv":
			warn(s, summary.Warnings)
			return summary.CSV(s.Out)
		}
		return f.Tables(s.Out, summary.Tables)
	})
	f.bind(cmd, "text", "json", "md", "csv")
	return cmd
}
