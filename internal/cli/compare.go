package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/compare"
	"brunt/internal/result"
)

func newCompare(s *streams) *cobra.Command {
	f := &resultFlags{}
	cmd := &cobra.Command{
		Use:   "compare BASE... -- CANDIDATE...",
		Short: "Say whether runs are better or worse than others",
		Long: `Compare the runs of a candidate with those of a base. Each metric gets a verdict from the
confidence interval of its change: regression or improvement if the interval lies wholly beyond the
tolerance, equivalent if wholly within it, otherwise inconclusive with the number of runs that would
settle it. A regression ends with exit code 97.

One run against one gets no verdict: runs of the same system differ, and one run doesn't say by how
much. Repeat each side at least 5 times.

Runs that are invalid, of different plans or sent by different machines are refused; --anyway
compares them and says so.`,
		Example: "  brunt compare results/before-* -- results/after-*\n  brunt compare --tolerance 5% --output junit base/*.json -- new/*.json",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			dash := cmd.ArgsLenAtDash()
			if dash < 0 && len(args) == 2 {
				dash = 1
			}
			if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
				return usage(fmt.Errorf("%s: flags stand before the base's runs; what follows -- are the candidate's", args[i]))
			}
			if dash < 1 || dash == len(args) {
				return usage(errors.New("write the base's runs, --, and the candidate's runs; see brunt compare --help"))
			}
			base, err := readResults(args[:dash])
			candidate, err2 := readResults(args[dash:])
			if err := errors.Join(err, err2); err != nil {
				return usage(err)
			}
			c, err := compare.Runs(base, candidate, o)
			if err != nil {
				return refusal(err)
			}
			code := exitPass
			if c.Verdict == compare.Regression {
				code = exitRegression
			}
			return coded(code, f.printComparison(s, c, code, base, candidate))
		},
	}
	f.bind(cmd, "text", "json", "md", "csv", "junit", "benchfmt")
	return cmd
}

func (f *resultFlags) printComparison(s *streams, c *compare.Comparison, code int, base, candidate []*result.Result) error {
	switch f.output {
	case "json":
		return c.JSON(s.out, code)
	case "junit":
		return c.JUnit(s.out)
	case "benchfmt":
		return compare.Benchfmt(s.out, base, candidate)
	}
	return f.tables(s.out, c.Tables)
}
