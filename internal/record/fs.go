package record

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"brunt/internal/base/linefile"
	"brunt/internal/base/linefile/filelock"
)

// FS is the part of a file system that bundles need. OS is the real one; tests use others.
type FS interface {
	// Mkdir makes one folder; it fails with fs.ErrExist if the path exists.
	Mkdir(path string) error
	// MkdirAll makes a folder and its parents; an existing folder is no error.
	MkdirAll(path string) error
	// Create makes a file for appending; it fails with fs.ErrExist if the file exists. Other processes can tell whether
	// IntervalsFile is still open.
	Create(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (io.ReadCloser, error)
	// Rename moves a file, replacing an existing one, and syncs the folder.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// List returns the names of a folder's entries.
	List(path string) ([]string, error)
}

// File is a file that is appended to.
type File = linefile.Disk

// OS is the operating system's file system.
type OS struct{}

var _ FS = OS{}

// Mkdir implements FS.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// MkdirAll implements FS.
func (OS) MkdirAll(path string) error { return os.MkdirAll(path, 0o755) }

// Create implements FS.
func (OS) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err == nil && filepath.Base(path) == IntervalsFile {
		filelock.Claim(f)
	}
	return f, err
}

// Open implements FS.
func (OS) Open(path string) (io.ReadCloser, error) { return os.Open(path) }

// Rename implements FS.
func (OS) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// List implements FS.
func (OS) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Private is the operating system's file system, whose new files only their owner can read.
type Private struct{ OS }

// Create implements FS.
func (Private) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// ReplaceFile writes data to a temporary file in the same folder and renames it to path. A reader, or the file system
// after a crash, has either the old content or the new, never a mixture. An error names path.
func ReplaceFile(fsys FS, path string, data []byte) error {
	if err := replaceFile(fsys, path, data); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: FileCause(err)}
	}
	return nil
}

// FileCause returns the reason why a file can't be used, without its name, for texts that have named it.
func FileCause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func replaceFile(fsys FS, path string, data []byte) error {
	temp := path + ".tmp"
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(temp)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temp, path)
	}
	if err != nil {
		_ = fsys.Remove(temp)
	}
	return err
}

// Nowhere is a file system that stores nothing, for runs without a record.
type Nowhere struct{}

var _ FS = Nowhere{}

// Mkdir implements FS.
func (Nowhere) Mkdir(string) error { return nil }

// MkdirAll implements FS.
func (Nowhere) MkdirAll(string) error { return nil }

// Create implements FS.
func (Nowhere) Create(string) (File, error) { return nothing{io.Discard}, nil }

// Open implements FS: every file is missing.
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
