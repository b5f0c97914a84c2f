package linefile

import (
	"bytes"
	"cmp"
	"io"
	"sync/atomic"
)

// Disk is a file that is appended to.
type Disk interface {
	io.Writer
	// Truncate cuts the file to size bytes; the next Write goes there.
	Truncate(size int64) error
	// Sync makes what was written durable.
	Sync() error
	io.Closer
}

// Log appends whole lines to a file and survives a full disk: what can't be written waits, in order, up to a bound, and
// is written when there is room again. It is for one goroutine.
type Log struct {
	disk    Disk
	size    int64 // of the file's whole lines, bytes
	torn    bool  // something may stand behind them
	waiting []byte
	bound   int
	syncing atomic.Bool
	failed  atomic.Pointer[error] // the last failure of a sync in the background
}

// NewLog returns the log of an empty file, of which at most bound bytes may wait.
func NewLog(disk Disk, bound int) *Log { return &Log{disk: disk, bound: bound} }

// Room reports whether so many further bytes may wait.
func (l *Log) Room(n int) bool { return len(l.waiting)+n <= l.bound }

// Waiting is how many bytes wait to be written.
func (l *Log) Waiting() int { return len(l.waiting) }

// Add adds a line with its newline. The next Flush writes it. The caller has asked for Room.
func (l *Log) Add(line []byte) { l.waiting = append(l.waiting, line...) }

// Flush writes all that waits. After a failure nothing is lost, and the next Flush removes what was written of a line.
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

// Sync makes the file durable in the background, one sync at a time. Close returns its failure.
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

// Close writes what waits, makes it durable and closes the file. The first failure is returned.
func (l *Log) Close() error {
	err := cmp.Or(l.Flush(), l.disk.Sync())
	if p := l.failed.Load(); err == nil && p != nil {
		err = *p
	}
	return cmp.Or(err, l.disk.Close())
}
