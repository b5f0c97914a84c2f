//go:build unix

// Package filelock locks files for one process and reports which ones other processes use.
package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Claim locks f while it is open, so that other processes can see that its run is in progress. It has no effect on file
// systems without locks.
func Claim(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// Claimed reports whether another process has locked the file at path.
func Claimed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Hold opens the file at path, creating it if necessary, and locks it for this process until lock is closed. held
// reports that another process holds it; lock is then nil. On file systems without locks, every process succeeds.
func Hold(path string) (lock io.Closer, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return nil, true, f.Close()
	}
	return f, false, nil
}

// Wait waits until no other process or goroutine holds the folder dir, and holds it until lock is closed. It doesn't
// wait on file systems without locks.
func Wait(dir string) (lock io.Closer, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX), unix.EINTR) {
	}
	return f, nil
}
