package program

import (
	"errors"
	"fmt"
	"os"

	"brunt/internal/record"
)

// Kept returns the outcome of the run with the bundle dir, or nil if there is no complete run. An incomplete run is
// renamed and kept.
func Kept(dir string) (*Outcome, error) {
	if o, err := Read(record.OS{}, dir); err == nil && !o.Run.Interrupted {
		return o, nil
	}
	return nil, SetAside(dir, "killed")
}

// SetAside renames a run's folder if it exists, so that the run is repeated. why is a part of the new name.
func SetAside(dir, why string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for n := 1; n < 10_000; n++ {
		to := fmt.Sprintf("%s.%s-%d", dir, why, n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return os.Rename(dir, to)
		}
	}
	return fmt.Errorf("%s.%s-1 and many more exist; remove them", dir, why)
}
