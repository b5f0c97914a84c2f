// Package linefile implements files to which whole lines are appended. A line is valid once its newline is written. The
// incomplete line that a crash or a full disk may leave is never read, and is removed before the next line is written.
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

// File is an open file of lines. Its methods are safe for concurrent use.
type File struct {
	mu    sync.Mutex
	log   Log
	path  string
	lines [][]byte
	tail  []byte
}

// Open opens or creates the file at path and reads its complete lines. Errors name the path.
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

// Tail returns what the file held after its last newline when it was opened. It is an incomplete line, or one to which
// an editor added no newline. The first Append removes it.
func (c *File) Tail() []byte { return c.tail }

// Append writes a line, which must not contain a newline, and syncs the file. If it fails, the file keeps its previous
// lines, and a later Append may succeed.
func (c *File) Append(line []byte) error { return c.append(line, true) }

// AppendSoon is Append without waiting for the sync. Once it returns, the line survives the end of this process. It
// survives a failure of the machine after a sync in the background, which begins now or with a later line. Close
// returns the error of a failed sync.
func (c *File) AppendSoon(line []byte) error { return c.append(line, false) }

func (c *File) append(line []byte, sync bool) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("%s: a line must not hold a newline", c.path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.log.size
	c.log.Add(append(bytes.Clone(line), '\n'))
	err := c.log.Flush()
	if err == nil && sync {
		err = c.log.disk.Sync()
	}
	if err != nil {
		c.log.size, c.log.torn, c.log.waiting = before, true, nil
	} else if !sync {
		c.log.Sync()
	}
	return err
}

// AppendJSON appends the JSON encoding of v like Append.
func (c *File) AppendJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Append(line)
}

// Close closes the file.
func (c *File) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.close()
}
