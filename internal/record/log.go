package record

import (
	"cmp"
	"sync/atomic"
)

// appendLog appends whole lines to a file and survives a full disk: what can't be written is
// kept, in order, up to a bound, and written when there is room again. It is used by one
// goroutine.
type appendLog struct {
	file    File
	good    int64 // size of the file's whole lines
	dirty   bool  // the file may end with a part of a line
	waiting []byte
	bound   int
	syncing atomic.Bool
	syncErr atomic.Pointer[error]
}

// room reports whether so many further bytes may wait.
func (l *appendLog) room(n int) bool { return len(l.waiting)+n <= l.bound }

// append adds a line; the caller has asked for room. It is written by the next flush.
func (l *appendLog) append(line []byte) { l.waiting = append(l.waiting, line...) }

// flush writes all that waits. After a failure nothing is lost and the file's end is made good
// by the next flush.
func (l *appendLog) flush() error {
	if l.dirty {
		if err := l.file.Truncate(l.good); err != nil {
			return err
		}
		l.dirty = false
	}
	if len(l.waiting) == 0 {
		return nil
	}
	n, err := l.file.Write(l.waiting)
	if err != nil {
		l.dirty = n > 0
		l.keepWholeLines(n)
		return err
	}
	l.good += int64(n)
	l.waiting = l.waiting[:0]
	return nil
}

// keepWholeLines takes the whole lines among the first n bytes for written.
func (l *appendLog) keepWholeLines(n int) {
	for n > 0 && l.waiting[n-1] != '\n' {
		n--
	}
	l.good += int64(n)
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
}

// sync makes the file durable in the background, one sync at a time.
func (l *appendLog) sync() {
	if !l.syncing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer l.syncing.Store(false)
		if err := l.file.Sync(); err != nil {
			l.syncErr.Store(&err)
		}
	}()
}

// close writes what waits and closes the file. The first failure is returned.
func (l *appendLog) close() error {
	err := cmp.Or(l.flush(), l.file.Sync())
	if p := l.syncErr.Load(); err == nil && p != nil {
		err = *p
	}
	return cmp.Or(err, l.file.Close())
}
