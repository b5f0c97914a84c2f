package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"brunt/internal/confidence"
	"brunt/internal/failover"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/verdict"
)

func newMerge(s *streams) *cobra.Command {
	f := &outputFlags{}
	var dir string
	cmd := &cobra.Command{
		Use:   "merge BUNDLE... --bundle FOLDER",
		Short: "Join the parts of one load, which several machines ran at the same time, into one run",
		Long: `Join the parts of one load into the bundle of one run: counts and distributions are as if one machine
had done it all. Each part must be there once. Thresholds and the verdict are judged again.

Parts are made with brunt run --part K/N: machine K of N takes each Nth operation;
or with brunt k6 run --execution-segment A:B --execution-segment-sequence S, S being the same for all.`,
		Example: "  brunt merge results/part-1 results/part-2 --bundle results/whole",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if dir == "" {
				return usage(errors.New("name the folder of the merged run with --bundle"))
			}
			var parts []*record.Recorded
			for _, path := range args {
				part, err := record.Open(record.OS{}, path)
				if err != nil {
					return usage(err)
				}
				if part.Live() {
					return usage(fmt.Errorf("%s is still under way; merge it when it has ended", path))
				}
				parts = append(parts, part)
			}
			run, err := joinParts(dir, parts, func(*record.Run) {})
			if err != nil {
				return err
			}
			if err := f.print(s.out, run, dir); err != nil {
				return err
			}
			return &exitError{code: verdict.ExitCode(run)}
		},
	}
	f.bind(cmd, "text")
	cmd.Flags().StringVar(&dir, "bundle", "", "folder of the merged run: new or empty")
	return cmd
}

// joinParts writes the bundle of the run that parts make together; complete adds to it what only the load's coordinator
// knows, before it is judged.
func joinParts(dir string, parts []*record.Recorded, complete func(*record.Run)) (*record.Run, error) {
	run, sums, err := record.Merge(parts...)
	if err != nil {
		return nil, usage(err)
	}
	verdict.MergeScripts(run, parts)
	together := func(f func(*measure.Interval) error) error { return record.Together(run, parts, f) }
	if err := failover.Fill(run, together); err != nil {
		return nil, err
	}
	if err := verdict.FillWindows(run, together); err != nil {
		return nil, err
	}
	complete(run)
	judgeAgain(run, sums)
	if err := confidence.Fill(run, together); err != nil {
		return nil, err
	}
	return run, usage(record.Join(record.OS{}, dir, run, parts...))
}

// judgeAgain judges a run made of others. Of the warnings that these had, it keeps what judging doesn't
// say again.
func judgeAgain(run *record.Run, sums *measure.Tally) {
	before := run.Warnings
	run.Warnings = nil
	verdict.Judge(run, sums.Total())
	verdict.JudgeIterations(run)
	judged := run.Warnings
	for _, w := range before {
		if !slices.ContainsFunc(judged, func(have record.Warning) bool { return have.ID == w.ID }) {
			run.Warnings = append(run.Warnings, w)
		}
	}
}
