package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/export"
	"brunt/internal/record"
	"brunt/internal/verdict/exitcode"
)

func newExport(s *streams) *cobra.Command {
	var format, path string
	cmd := command("export", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) (err error) {
		if !slices.Contains(export.FileFormats(), format) {
			return exitcode.Usage(fmt.Errorf("--format %s: use %s", cmp.Or(format, "(none)"),
				strings.Join(export.FileFormats(), ", ")))
		}
		bundle, err := record.Open(record.OS{}, args[0])
		if err != nil {
			return exitcode.Usage(err)
		}
		var out io.Writer = s.out
		if path != "" && path != "-" {
			f, err := os.Create(path)
			if err != nil {
				return exitcode.Usage(fmt.Errorf("--out: %w", err))
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			out = f
		}
		file, err := export.NewFile(out, format, bundle.Run)
		if err != nil {
			return exitcode.Usage(err)
		}
		if err := errors.Join(bundle.Intervals(file.Interval), file.Close()); err != nil {
			return fmt.Errorf("export %s: %w", args[0], err)
		}
		for _, w := range bundle.Damage() {
			fmt.Fprintf(s.err, "brunt: note: %s\n", w.Text)
		}
		return nil
	})
	cmd.Flags().StringVar(&format, "format", "", "csv, hdr, prometheus, influx or parquet")
	cmd.Flags().StringVarP(&path, "out", "o", "", "file to write; standard output if absent")
	return cmd
}
