package jmeter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"brunt/internal/report"
)

// usualPageFolder is where JMeter makes its report if -o names no folder.
const usualPageFolder = "report-output"

// pageFile is the page in the folder of a report.
const pageFile = "index.html"

// checkPage reports whether the page of -e can be made: its folder must be new or empty, unless -f was given.
func (o *Options) checkPage(unrecorded bool) error {
	switch {
	case o.Folder != "" && !o.Page:
		return errors.New("-o names the folder of the report that -e asks for: add -e")
	case !o.Page:
		return nil
	case unrecorded:
		return errors.New("-e: the report is made of the record: leave out --no-record")
	}
	held, err := os.ReadDir(o.folder())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-o: %w", err)
	case len(held) > 0 && !o.Force:
		return fmt.Errorf("-o: the folder %s isn't empty; name another one, or replace its report with -f", o.folder())
	}
	return nil
}

// folder returns the folder of the report.
func (o *Options) folder() string {
	if o.Folder == "" {
		return usualPageFolder
	}
	return o.Folder
}

// writePage makes the report of a record: brunt's page about it.
func (e *execution) writePage(bundle string) error {
	if !e.o.Page {
		return nil
	}
	sheet, err := report.ReadSheet([]string{bundle}, nil, nil, "")
	if err == nil {
		err = os.MkdirAll(e.o.folder(), 0o755)
	}
	if err != nil {
		return fmt.Errorf("-e: %w", err)
	}
	return report.WritePage(filepath.Join(e.o.folder(), pageFile), e.outputs.Out, sheet, report.Options{})
}
