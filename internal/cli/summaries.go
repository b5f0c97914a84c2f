package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"brunt/internal/dialect/tools"
	"brunt/internal/record"
)

// summaryFlags are the folders for the tools' own files about a load, by their flags.
type summaryFlags map[string]*string

func (f *summaryFlags) bind(fs *pflag.FlagSet) {
	*f = summaryFlags{}
	for _, s := range tools.All().Summaries() {
		(*f)[s.Flag] = fs.String(s.Flag, "", s.About)
	}
}

// write writes the files into the bundle in dir, if there is one, and into the folders that were named.
func (f summaryFlags) write(run *record.Run, dir string) error {
	var errs []error
	for _, s := range tools.All().Summaries() {
		folders := []string{dir}
		if further := f[s.Flag]; further != nil {
			folders = append(folders, *further)
		}
		for _, folder := range folders {
			if folder != "" {
				errs = append(errs, s.Write(folder, run))
			}
		}
	}
	return errors.Join(errs...)
}
