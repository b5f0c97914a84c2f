package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"brunt/internal/compare"
	"brunt/internal/record"
	"brunt/internal/result"
	"brunt/internal/result/reader"
)

// resultFlags say how results are compared and how that is printed.
type resultFlags struct {
	formFlags
	confidence float64
	tolerances []string
	anyway     bool
}

func (f *resultFlags) bind(cmd *cobra.Command, forms ...string) {
	fs := cmd.Flags()
	f.formFlags.bind(fs, "text", "tables", forms...)
	fs.Float64VarP(&f.confidence, "confidence", "p", 95, "confidence of intervals in per cent")
	fs.StringArrayVar(&f.tolerances, "tolerance", nil, "change that doesn't matter: 5%, or METRIC=5% (rate, count, errors, response, response.p(99), …; repeatable)")
	fs.BoolVar(&f.anyway, "anyway", false, "take runs also where that means little: invalid ones, of different plans or machines")
}

func (f *resultFlags) options() (compare.Options, error) {
	if err := f.check(); err != nil {
		return compare.Options{}, err
	}
	if !(f.confidence >= 50 && f.confidence < 100) {
		return compare.Options{}, usage(fmt.Errorf("--confidence %g: give a percentage from 50 to below 100, such as 95", f.confidence))
	}
	tolerances, err := compare.ParseTolerances(f.tolerances)
	if err != nil {
		return compare.Options{}, usage(fmt.Errorf("--tolerance: %w", err))
	}
	return compare.Options{Confidence: f.confidence / 100, Tolerances: tolerances, Anyway: f.anyway}, nil
}

// readResults reads all results; all faults are told at once.
func readResults(paths []string) (all []*result.Result, err error) {
	for _, p := range paths {
		r, readErr := reader.Read(record.OS{}, p, len(paths) == 1)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		all = append(all, r)
	}
	return all, usage(err)
}

// refusal gives a refused comparison its exit code.
func refusal(err error) error {
	var refused *compare.Refused
	if errors.As(err, &refused) && refused.Invalid {
		return &exitError{exitInvalid, err}
	}
	return usage(err)
}

func newIntervals(s *streams) *cobra.Command {
	f := &resultFlags{}
	cmd := &cobra.Command{
		Use:   "intervals RESULT...",
		Short: "Confidence intervals of the rate, the response times and the requests processed over several runs",
		Long: `Print what several runs of the same load come to: the mean of every metric with its confidence
interval by Student's t, the geometric mean with its interval on logarithms where there are few
runs, the median with its interval, and how many runs it would take for an interval as narrow as
the tolerance.

A RESULT is a run's folder, what --output json printed, a summary_*.json of Picostress, a JSON
summary of k6, or the output of go-ycsb or pgbench in a file.`,
		Example: "  brunt intervals -p 95 results/cars-*\n  brunt intervals -p 99 summaries/summary_*.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
				return refusal(err)
			}
			if f.output == "json" {
				return summary.JSON(s.out)
			}
			return f.tables(s.out, summary.Tables)
		},
	}
	f.bind(cmd, "text", "json", "md", "csv")
	return cmd
}
