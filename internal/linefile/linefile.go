// Package linefile keeps a file of lines to which whole lines are appended, each safe on disk before Append returns.
// A line counts once its newline is written: what a crash or a full disk leaves of one is removed before the next is
// written, and never read.
package linefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// File is an open file of lines. Its methods are safe for concurrent use.
type File struct {
	mu    sync.Mutex
	disk  disk
	path  string
	lines [][]byte
	size  int64 // of the whole lines, bytes
	torn  bool  // something may stand behind them
}

// disk is what a File needs of *os.File.
type disk interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Open opens or creates the file at path and reads its whole lines. The error names the path.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err // names the path
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	c := &File{disk: f, path: path, size: int64(whole), torn: whole < len(data)}
	if whole > 0 {
		c.lines = bytes.Split(data[:whole-1], []byte{'\n'})
	}
	return c, nil
}

// Name returns the path that Open was given.
func (c *File) Name() string { return c.path }

// Lines returns the lines that the file held when it was opened, without their newlines.
func (c *File) Lines() [][]byte { return c.lines }

// Append writes a line, which must hold no newline, and syncs the file. If it fails, the file's lines are those
// from before, and a later Append may succeed.
func (c *File) Append(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("%s: a line must not hold a newline", c.path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.torn {
		if err := c.disk.Truncate(c.size); err != nil {
			return err
		}
	}
	c.torn = true
	whole := append(bytes.Clone(line), '\n')
	if _, err := c.disk.WriteAt(whole, c.size); err != nil {
		return err
	}
	if err := c.disk.Sync(); err != nil {
		return err
	}
	c.size, c.torn = c.size+int64(len(whole)), false
	return nil
}

// Close closes the file.
func (c *File) Close() error { return c.disk.Close() }
