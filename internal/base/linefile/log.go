package linefile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync/atomic"
)

// Disk is a file opened for appending.
type Disk interface {
	io.Writer
	// Truncate truncates the file to size bytes; the next Write continues there.
	Truncate(size int64) error
	// Sync makes the written data durable.
	Sync() error
	io.Closer
}

// Log appends whole lines to a file and tolerates a full disk: lines that can't be written wait in memory, in order and
// up to a limit, and are written once there is space again. It must be used by one goroutine only.
type Log struct {
	disk    Disk
	size    int64 // bytes of the file's complete lines
	torn    bool  // an incomplete line may follow them
	waiting []byte
	bound   int
	syncing atomic.Bool
	failed  atomic.Pointer[error] // the last error of a background sync
}

// NewLog returns the log of an empty file. At most bound bytes may wait in memory.
func NewLog(disk Disk, bound int) *Log { return &Log{disk: disk, bound: bound} }

// Room reports whether n more bytes may wait.
func (l *Log) Room(n int) bool { return len(l.waiting)+n <= l.bound }

// Waiting returns the number of bytes that wait to be written.
func (l *Log) Waiting() int { return len(l.waiting) }

// Rest returns the lines that the disk has not taken. They are valid until the log is used again, and after Close.
func (l *Log) Rest() []byte { return l.waiting }

// Add adds a line including its newline; the next Flush writes it. The caller must have checked Room.
func (l *Log) Add(line []byte) { l.waiting = append(l.waiting, line...) }

// Flush writes all waiting lines. After a failure they keep waiting, and the next Flush removes what was written of an
// incomplete line.
func (l *Log) Flush() error {
	if l.torn {
		if err := l.disk.Truncate(l.size); err != nil {
			return err
		}
		l.torn = false
	}
	if len(l.waiting) == 0 {
		return nil
	}
	n, err := l.disk.Write(l.waiting)
	if err != nil {
		l.torn = n > 0
		n = bytes.LastIndexByte(l.waiting[:n], '\n') + 1
	}
	l.size += int64(n)
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	return err
}

// Sync syncs the file in the background. It does nothing while a sync is in progress. Close returns its error.
func (l *Log) Sync() {
	if !l.syncing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer l.syncing.Store(false)
		if err := l.disk.Sync(); err != nil {
			l.failed.Store(&err)
		}
	}()
}

// Close writes the waiting lines, and syncs and closes the file. It returns the first error.
func (l *Log) Close() error { return cmp.Or(l.Flush(), l.disk.Sync(), l.close()) }

// close closes the file, and returns the error of a background sync if there was one.
func (l *Log) close() error {
	var failed error
	if p := l.failed.Load(); p != nil {
		failed = *p
	}
	return errors.Join(failed, l.disk.Close())
}
