package export

import (
	"errors"
	"fmt"
	"io"
	"os"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
)

// Write writes the intervals of a run in one of FileFormats to the file path, or to stdout if path is "" or -.
func Write(stdout io.Writer, path, format string, b *record.Recorded) (err error) {
	out := stdout
	if path != "" && path != "-" {
		f, failed := os.Create(path)
		if failed != nil {
			return exitcode.Usage(fmt.Errorf("--out: %w", failed))
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	file, err := NewFile(out, format, b.Run)
	if err != nil {
		return exitcode.Usage(err)
	}
	if err := errors.Join(b.Intervals(file.Interval), file.Close()); err != nil {
		return fmt.Errorf("export %s: %w", b.Dir, err)
	}
	return nil
}
