// Package linefile keeps files of lines to which whole lines are appended. A line counts once its newline is written:
// what a crash or a full disk leaves of one is removed before the next is written, and never read.
package linefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// File is an open file of lines, each safe on disk before Append returns. Its methods are safe for concurrent use.
type File struct {
	mu    sync.Mutex
	log   Log
	path  string
	lines [][]byte
	tail  []byte
}

// Open opens or creates the file at path and reads its whole lines. The error names the path.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err // names the path
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	c := &File{log: Log{disk: f, size: int64(whole), torn: whole < len(data)}, path: path, tail: data[whole:]}
	if whole > 0 {
		c.lines = bytes.Split(data[:whole-1], []byte{'\n'})
	}
	return c, nil
}

// Name returns the path that Open was given.
func (c *File) Name() string { return c.path }

// Lines returns the lines that the file held when it was opened, without their newlines.
func (c *File) Lines() [][]byte { return c.lines }

// Tail returns what the file held behind its last newline when it was opened: a line that was cut off, which the first
// Append removes. People's editors leave out the last newline, too.
func (c *File) Tail() []byte { return c.tail }

// Append writes a line, which must hold no newline, and syncs the file. If it fails, the file's lines are those
// from before, and a later Append may succeed.
func (c *File) Append(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("%s: a line must not hold a newline", c.path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.log.size
	c.log.Add(append(bytes.Clone(line), '\n'))
	err := c.log.Flush()
	if err == nil {
		err = c.log.disk.Sync()
	}
	if err != nil {
		c.log.size, c.log.torn, c.log.waiting = before, true, nil
	}
	return err
}

// AppendJSON is Append of a value's JSON.
func (c *File) AppendJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Append(line)
}

// Close closes the file.
func (c *File) Close() error { return c.log.disk.Close() }
