package picostress

import (
	"fmt"
	"io"

	"brunt/internal/dialect"
	"brunt/internal/dialect/picostress/summary"
	"brunt/internal/record"
	"brunt/internal/report"
)

// name is the tool's name, and that of its form of reports.
const name = "picostress"

// form is the form of reports that Picostress prints.
func form() report.Format {
	return report.Format{Name: name, Write: func(w io.Writer, run *record.Run, _ report.Options) error {
		text, err := summary.Of(run).Text()
		if err == nil {
			_, err = fmt.Fprintln(w, text)
		}
		return err
	}}
}

// file is the summary that Picostress writes to a file.
func file() *dialect.Summary {
	return &dialect.Summary{
		Flag: summary.Flag, About: "write summary_<seed>.json into this folder too",
		Write: func(dir string, run *record.Run) error {
			_, err := summary.Write(record.OS{}, dir, run)
			return err
		},
	}
}
