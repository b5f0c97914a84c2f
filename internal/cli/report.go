package cli

import (
	"github.com/spf13/cobra"

	"brunt/internal/record"
	"brunt/internal/verdict"
	"brunt/internal/within"
)

func newReport(s *streams) *cobra.Command {
	f := &outputFlags{}
	cmd := &cobra.Command{
		Use:   "report BUNDLE",
		Short: "Print the result of a run from its bundle, also of one that was killed",
		Long: `Print the result of a run from its bundle. Of a run that was killed everything up to its last
interval is there; the exit code is the one that the run would have had. Of one that is still under
way it says so, and gives no verdict.`,
		Example: "  brunt report results/cars-20261121T101500Z\n  brunt report results/cars-20261121T101500Z --output json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			bundle, err := record.Open(record.OS{}, args[0])
			if err != nil {
				return usage(err)
			}
			run, sums, err := bundle.Result()
			if err != nil {
				return err
			}
			if bundle.Live() {
				// Thresholds and the verdict are for its end.
				run.Thresholds, run.Warnings = nil, append(run.Warnings, verdict.UnderWay(run))
			} else if sums != nil {
				verdict.Judge(run, sums.Total())
			}
			if run.Total.RateWithin == nil {
				if err := within.Fill(run, bundle.Intervals); err != nil {
					return err
				}
			}
			if err := f.print(s.out, run, bundle.Dir); err != nil {
				return err
			}
			return &exitError{code: verdict.ExitCode(run)}
		},
	}
	f.bind(cmd, "text")
	return cmd
}
