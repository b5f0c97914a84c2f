package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/report/export"
)

func newExport(s *command.Env) *cobra.Command {
	var format, path string
	cmd := newCommand("export", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		if !slices.Contains(export.FileFormats(), format) {
			return exitcode.Usage(fmt.Errorf("--format %s: use %s", cmp.Or(format, "(none)"),
				strings.Join(export.FileFormats(), ", ")))
		}
		bundle, err := record.Open(record.OS{}, args[0])
		if err != nil {
			return exitcode.Usage(err)
		}
		if err := export.Write(s.Out, path, format, bundle); err != nil {
			return err
		}
		for _, w := range bundle.Damage() {
			fmt.Fprintf(s.Err, "brunt: note: %s\n", w.Text)
		}
		return nil
	})
	cmd.Flags().StringVar(&format, "format", "", "csv, hdr, prometheus, influx or parquet")
	cmd.Flags().StringVarP(&path, "out", "o", "", "file to write; standard output if absent")
	return cmd
}
