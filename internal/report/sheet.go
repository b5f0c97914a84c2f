package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// ReadSheet reads the runs that a page shows, from their bundles, and compares them if there are several. formats are
// those of results besides brunt's own.
func ReadSheet(paths, against []string, formats []result.Format, l units.Language) (*Sheet, error) {
	sheet := &Sheet{}
	for i, path := range slices.Concat(paths, against) {
		b, err := record.Open(record.OS{}, path)
		if err != nil {
			return nil, exitcode.Usage(err)
		}
		r, err := OpenForPage(b)
		if err != nil {
			return nil, err
		}
		if i < len(paths) {
			sheet.Results = append(sheet.Results, *r)
		} else {
			sheet.Against = append(sheet.Against, *r)
		}
	}
	if len(paths)+len(against) < 2 {
		return sheet, nil
	}
	runs, err := reader.ReadAll(record.OS{}, paths, formats)
	others, err2 := reader.ReadAll(record.OS{}, against, formats)
	if err := errors.Join(err, err2); err != nil {
		return nil, exitcode.Usage(err)
	}
	return sheet, sheet.Compare(runs, others, l)
}

// WritePage writes a page to a file, which it replaces as a whole. The name - stands for stdout.
func WritePage(name string, stdout io.Writer, s *Sheet, o Options) error {
	var page bytes.Buffer
	err := HTML(&page, s, o)
	if err == nil && name == "-" {
		_, err = stdout.Write(page.Bytes())
	} else if err == nil {
		err = record.ReplaceFile(record.OS{}, name, page.Bytes())
	}
	if err != nil {
		return fmt.Errorf("the page can't be written to %s: %w", name, record.FileCause(err))
	}
	return nil
}
