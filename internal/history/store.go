// Package history keeps what runs came to, version by version, and finds where that changed.
package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/linefile"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// The files of a store.
const (
	EntriesFile      = "history.ndjson"
	AcknowledgedFile = "acknowledged.ndjson"
)

// SchemaVersion is the version of the entries that this package writes.
const SchemaVersion = 1

// Entry is what the runs of one version came to: a line of history.ndjson.
type Entry struct {
	Schema      int       `json:"schema"`
	Added       time.Time `json:"added"`
	Series      string    `json:"series"`      // what is repeated: usually the plan's name
	Version     string    `json:"version"`     // of what is measured: a commit or a release
	Environment string    `json:"environment"` // where: series of different environments are different
	Began       time.Time `json:"began"`       // of the first run
	Count       int       `json:"count"`       // of runs
	Runs        []string  `json:"runs"`        // their identities, as far as they have any
	Metrics     []Metric  `json:"metrics"`
}

// Metric is one metric over an entry's runs.
type Metric struct {
	Name      string        `json:"name"`
	Operation string        `json:"operation,omitempty"`
	Unit      string        `json:"unit"`
	Better    metric.Better `json:"better"`    // 1 higher, 2 lower
	Mean      record.Figure `json:"mean"`      // infinite if a run has a time without end, which is null in JSON
	Deviation float64       `json:"deviation"` // standard deviation; 0 of one run and of an infinite mean
}

// Acknowledged is a change that was looked at: a line of acknowledged.ndjson. Empty fields mean all.
type Acknowledged struct {
	Added   time.Time `json:"added"`
	Version string    `json:"version"` // where the change begins, or next to that
	Series  string    `json:"series,omitempty"`
	Metric  string    `json:"metric,omitempty"`
	Reason  string    `json:"reason"`
}

// Store is a folder of histories, which may be in a git repository.
type Store struct{ Dir string }

// Entries reads all entries in the order in which they were added, and names the lines that aren't one, as a crash
// leaves them: "history.ndjson:3". A store without any has none. It fails on entries of a newer schema.
func (s Store) Entries() (all []Entry, damaged []string, err error) {
	damaged, err = s.readLines(EntriesFile, func(line []byte) error {
		var head struct {
			Schema int `json:"schema"`
		}
		if json.Unmarshal(line, &head) == nil && head.Schema > SchemaVersion {
			return fmt.Errorf("schema version %d is newer than this program reads (%d); update brunt", head.Schema,
				SchemaVersion)
		}
		var e Entry
		if json.Unmarshal(line, &e) != nil || e.Schema < 1 || e.Series == "" || e.Version == "" {
			return errDamaged
		}
		all = append(all, e)
		return nil
	})
	return all, damaged, err
}

// Acknowledged reads what was acknowledged, and names the lines that can't be read, as Entries does.
func (s Store) Acknowledged() (all []Acknowledged, damaged []string, err error) {
	damaged, err = s.readLines(AcknowledgedFile, func(line []byte) error {
		var a Acknowledged
		if json.Unmarshal(line, &a) != nil || a.Version == "" {
			return errDamaged
		}
		all = append(all, a)
		return nil
	})
	return all, damaged, err
}

// errDamaged is of a line that isn't what the file holds.
var errDamaged = errors.New("damaged")

// Add appends an entry, making the folder if need be. It refuses runs that are there already.
func (s Store) Add(e Entry) error {
	have, _, err := s.Entries()
	if err != nil {
		return err
	}
	for _, h := range have {
		for _, id := range e.Runs {
			if slices.Contains(h.Runs, id) {
				return fmt.Errorf("run %s is in the history already, as %s of %q; add each run once", id, h.Version, h.Series)
			}
		}
	}
	e.Schema = SchemaVersion
	return s.append(EntriesFile, e)
}

// Acknowledge appends that a change was looked at.
func (s Store) Acknowledge(a Acknowledged) error { return s.append(AcknowledgedFile, a) }

// append adds a line durably. What a crash left of a line before it is removed, a whole line without
// its newline is kept.
func (s Store) append(name string, v any) error {
	path := filepath.Join(s.Dir, name)
	err := os.MkdirAll(s.Dir, 0o755)
	if err == nil {
		err = appendTo(path, v)
	}
	if err != nil {
		return fmt.Errorf("add to %s: %w; name a folder that can be written with --store", path, err)
	}
	return nil
}

func appendTo(path string, v any) error {
	f, err := linefile.Open(path)
	if err != nil {
		return err
	}
	if json.Valid(f.Tail()) { // an editor has left out the newline
		err = f.Append(f.Tail())
	}
	if err == nil {
		err = f.AppendJSON(v)
	}
	return errors.Join(err, f.Close())
}

// readLines calls f with every line of a file, and names those that f says are damaged. Other errors of f end it.
func (s Store) readLines(name string, f func(line []byte) error) (damaged []string, err error) {
	path := filepath.Join(s.Dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		switch err := f(line); {
		case errors.Is(err, errDamaged):
			damaged = append(damaged, fmt.Sprintf("%s:%d", name, n))
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return damaged, nil
}
