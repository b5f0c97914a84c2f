package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
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
				return exitcode.Usage(errors.New("name the folder of the merged run with --bundle"))
			}
			var parts []*record.Recorded
			for _, path := range args {
				part, err := record.Open(record.OS{}, path)
				if err != nil {
					return exitcode.Usage(err)
				}
				if part.Live() {
					return exitcode.Usage(fmt.Errorf("%s is still under way; merge it when it has ended", path))
				}
				parts = append(parts, part)
			}
			run, err := loadtest.Join(dir, parts, func(*record.Run) {})
			if err != nil {
				return err
			}
			if err := f.report().Print(s.out, run, dir); err != nil {
				return err
			}
			return exitcode.With(verdict.ExitCode(run), nil)
		},
	}
	f.bind(cmd, "text")
	cmd.Flags().StringVar(&dir, "bundle", "", "folder of the merged run: new or empty")
	return cmd
}
