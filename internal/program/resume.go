package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"brunt/internal/filelock"
	"brunt/internal/record"
)

const (
	orderFile = "series.sha256" // of what was asked for
	lockFile  = "series.lock"
)

// Claim locks a series' folder for this process until the returned value is closed. order is a text with everything
// that determines the series. It is stored in a new folder, and must be the same when the folder is resumed.
func Claim(dir, order string, resume bool) (io.Closer, error) {
	sum := sha256.Sum256([]byte(order))
	want, path := hex.EncodeToString(sum[:]), filepath.Join(dir, orderFile)
	if resume {
		noted, err := os.ReadFile(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s holds no series to resume; name the folder that it made", dir)
		case strings.TrimSpace(string(noted)) != want:
			return nil, fmt.Errorf(
				"%s holds a series of another plan or with other flags; resume it with those, or begin a new one", dir)
		}
	}
	lock, held, err := filelock.Hold(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("folder of the series: %w", err)
	}
	if held {
		return nil, fmt.Errorf("a series is running in %s; wait for its end", dir)
	}
	if !resume {
		if err := record.ReplaceFile(record.OS{}, path, []byte(want+"\n")); err != nil {
			return nil, errors.Join(fmt.Errorf("folder of the series: %w", err), lock.Close())
		}
	}
	return lock, nil
}

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
