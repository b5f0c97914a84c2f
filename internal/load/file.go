package load

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// File is a Checkpoint in a file.
type File struct {
	path  string
	file  *os.File
	lines [][]byte
	mu    sync.Mutex
}

// OpenFile opens or creates the checkpoint at path. A last line that was cut off by a crash is
// removed.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("load: open the checkpoint: %w", err)
	}
	data, err := io.ReadAll(f)
	whole := bytes.LastIndexByte(data, '\n') + 1
	if err == nil && whole < len(data) {
		err = f.Truncate(int64(whole))
	}
	if err == nil {
		_, err = f.Seek(int64(whole), io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("load: read the checkpoint: %w", err)
	}
	c := &File{path: path, file: f}
	if whole > 0 {
		c.lines = bytes.Split(data[:whole-1], []byte{'\n'})
	}
	return c, nil
}

// Name is the file's path.
func (c *File) Name() string { return c.path }

// Lines returns what the file held when it was opened.
func (c *File) Lines() ([][]byte, error) { return c.lines, nil }

// Append writes a line and syncs the file.
func (c *File) Append(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.file.Write(append(slices.Clip(line), '\n')); err != nil {
		return err
	}
	return c.file.Sync()
}

// Close closes the file.
func (c *File) Close() error { return c.file.Close() }

var _ Checkpoint = (*File)(nil)
