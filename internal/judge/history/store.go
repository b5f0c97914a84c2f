// Package history stores the results of runs by version and finds the versions at which they changed.
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

	"brunt/internal/base/linefile"
	"brunt/internal/base/linefile/filelock"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
)

// The names of the files in a store.
const (
	EntriesFile      = "history.ndjson"
	AcknowledgedFile = "acknowledged.ndjson"
)

// SchemaVersion is the version of the entries that this package writes.
const SchemaVersion = 1

// Entry is the summary of the runs of one version. Each is a line of history.ndjson.
type Entry struct {
	Schema      int       `json:"schema"`
	Added       time.Time `json:"added"`
	Series      string    `json:"series"`         // what is measured repeatedly: usually the plan's name
	Version     string    `json:"version"`        // of the measured software: a commit or a release
	Environment string    `json:"environment"`    // where the runs were made; see environment
	Load        string    `json:"load,omitempty"` // what was sent; see compare.Fingerprint. "" if unknown
	Began       time.Time `json:"began"`          // start of the first run
	Count       int       `json:"count"`          // number of runs
	Runs        []string  `json:"runs"`           // IDs of the runs that have one
	Metrics     []Metric  `json:"metrics"`
}

// Metric is one metric over an entry's runs.
type Metric struct {
	Name      string        `json:"name"`
	Operation string        `json:"operation,omitempty"`
	Unit      string        `json:"unit"`
	Better    metric.Better `json:"better"`    // 1 higher, 2 lower
	Mean      record.Figure `json:"mean"`      // +Inf if a run contains an infinite time, which is null in JSON
	Deviation float64       `json:"deviation"` // standard deviation of the runs; 0 for a single run or an infinite mean
}

// Acknowledged marks a change as known. Each is a line of acknowledged.ndjson. Empty fields match everything.
type Acknowledged struct {
	Added   time.Time `json:"added"`
	Version string    `json:"version"` // first version on the new level, or a neighbour of it
	Series  string    `json:"series,omitempty"`
	Metric  string    `json:"metric,omitempty"`
	Reason  string    `json:"reason"`
}

// Store is a folder with a history. It may be inside a git repository.
type Store struct{ Dir string }

// Entries reads all entries in the order in which they were added. damaged names the lines that aren't entries,
// such as those that a crash cut off, in the form "history.ndjson:3". A missing file means no entries. Entries of a
// newer schema are an error.
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

// Acknowledged reads the acknowledged changes. damaged names the unreadable lines, as in Entries.
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

// errDamaged marks a line that can't be parsed.
var errDamaged = errors.New("damaged")

// ErrOtherLoad says that a series has runs of another load, with which an entry can't be compared.
var ErrOtherLoad = errors.New("the series has runs of another load (operations, data, rates or phases)")

// Add appends an entry and creates the folder if necessary. It fails if one of the entry's runs is already in the
// store and, unless anyway is true, with ErrOtherLoad if the last entry of its series in its environment has
// another load.
func (s Store) Add(e Entry, anyway bool) error {
	return s.alone(func() error { return s.add(e, anyway) })
}

func (s Store) add(e Entry, anyway bool) error {
	have, _, err := s.Entries()
	if err != nil {
		return err
	}
	for _, h := range slices.Backward(have) {
		if h.Series == e.Series && h.Environment == e.Environment {
			if !anyway && h.Load != "" && e.Load != "" && h.Load != e.Load {
				return fmt.Errorf("%s: %w: %s; compare would refuse them: give the new runs a series of their own with --series, "+
					"or add them all the same with --anyway", e.Series, ErrOtherLoad, h.Version)
			}
			break
		}
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

// Acknowledge appends an acknowledged change.
func (s Store) Acknowledge(a Acknowledged) error {
	return s.alone(func() error { return s.append(AcknowledgedFile, a) })
}

// alone calls f while no other process changes the store: what one had half written, the next would remove as torn.
func (s Store) alone(f func() error) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return cannot(s.Dir, err)
	}
	lock, err := filelock.Wait(s.Dir)
	if err != nil {
		return cannot(s.Dir, err)
	}
	return errors.Join(f(), lock.Close())
}

func cannot(path string, err error) error {
	return fmt.Errorf("add to %s: %w; name a folder that can be written with --store", path, err)
}

// append durably appends a line to a file. An incomplete last line, as a crash leaves it, is removed; a complete
// last line without a newline is kept.
func (s Store) append(name string, v any) error {
	path := filepath.Join(s.Dir, name)
	if err := appendTo(path, v); err != nil {
		return cannot(path, err)
	}
	return nil
}

func appendTo(path string, v any) error {
	f, err := linefile.Open(path)
	if err != nil {
		return err
	}
	if json.Valid(f.Tail()) { // the last line only lacks a newline, as some editors leave it
		err = f.Append(f.Tail())
	}
	if err == nil {
		err = f.AppendJSON(v)
	}
	return errors.Join(err, f.Close())
}

// readLines calls f with every line of a file that isn't empty. It returns the places of the lines for which f
// returned errDamaged, and stops at any other error.
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
