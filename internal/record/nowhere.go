package record

import (
	"io"
	"io/fs"
)

// Nowhere is a file system that keeps nothing, for runs without a record.
type Nowhere struct{}

var _ FS = Nowhere{}

// Mkdir implements FS.
func (Nowhere) Mkdir(string) error { return nil }

// MkdirAll implements FS.
func (Nowhere) MkdirAll(string) error { return nil }

// Create implements FS.
func (Nowhere) Create(string) (File, error) { return nothing{io.Discard}, nil }

// Open implements FS: there is nothing to read.
func (Nowhere) Open(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

// Rename implements FS.
func (Nowhere) Rename(string, string) error { return nil }

// Remove implements FS.
func (Nowhere) Remove(string) error { return nil }

// List implements FS.
func (Nowhere) List(string) ([]string, error) { return nil, nil }

type nothing struct{ io.Writer }

func (nothing) Truncate(int64) error { return nil }
func (nothing) Sync() error          { return nil }
func (nothing) Close() error         { return nil }
