package ycsb

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"

	"brunt/internal/measure"
)

// Checkpoint stores the progress of a load in a file, so that property resume can continue it. It is a measure.Sink.
type Checkpoint struct {
	Path  string
	Job   *Job
	Last  func() int64                         // number of the last record before the first gap
	Write func(path string, data []byte) error // must write atomically
}

// progress is the content of the file.
type progress struct {
	Load string `json:"load"` // fingerprint of the load
	Done int64  `json:"done"` // number of records from insertstart on that were inserted
}

// CheckpointName returns the name of a load's file.
func (s *Settings) CheckpointName() string {
	return fmt.Sprintf("ycsb-%s-%s-%d.load", s.Database.Names[0], strings.Map(harmless, s.Table), s.InsertStart)
}

func harmless(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// fingerprint returns a hash of everything that determines the records and their destination.
func (s *Settings) fingerprint() (string, error) {
	t, err := s.Database.target(s.Set)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	fmt.Fprint(h, t.Protocol, t.Addresses, t.Database, s.Table, s.InsertStart, s.LoadCount, s.Keys, s.Fields,
		s.Lengths.Most, s.Seed, s.Integrity,
		s.Set.Text("fieldlengthdistribution", ""))
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// Resumable returns how many of the same records an earlier load has inserted, by its checkpoint; 0 if there is none.
// It returns an error if the checkpoint is that of another load.
func (s *Settings) Resumable(path string, readFile ReadFile) (int64, error) {
	if s.Command != Load || !s.Resume {
		return 0, nil
	}
	if s.DropData {
		return 0, fmt.Errorf("resume=true and dropdata=true exclude each other; give one")
	}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	var p progress
	if err := json.Unmarshal(data, &p); err != nil {
		return 0, fmt.Errorf("resume: %s: %w; remove it to load again", path, err)
	}
	mine, err := s.fingerprint()
	switch {
	case err != nil:
		return 0, err
	case p.Load != mine:
		return 0, fmt.Errorf("resume: %s is of a load with other properties; remove it, or give the same ones", path)
	case p.Done < 0 || p.Done >= s.LoadCount+int64(s.Batch):
		return 0, fmt.Errorf("resume: %s says %d of %d records; remove it to load again", path, p.Done, s.LoadCount)
	}
	there := min(p.Done, s.LoadCount-1) // a load has at least one insert
	return there - there%int64(s.Batch), nil
}

// Done returns how many records from insertstart on were inserted without a gap.
func (c *Checkpoint) Done() int64 {
	if c.Last == nil {
		return c.Job.Resumed
	}
	return c.Last() + 1 - c.Job.Settings.InsertStart
}

// Interval implements measure.Sink.
func (c *Checkpoint) Interval(*measure.Interval) error { return c.Save() }

// Save writes the file.
func (c *Checkpoint) Save() error {
	id, err := c.Job.Settings.fingerprint()
	if err != nil {
		return err
	}
	// Encoding two plain fields can't fail.
	data, _ := json.Marshal(progress{id, c.Done()})
	if err := c.Write(c.Path, append(data, '\n')); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}
