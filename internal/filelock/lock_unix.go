//go:build unix

// Package filelock keeps files for one process, and tells others which are in use.
package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Claim holds f for as long as it is open, so that others see that its run is under way. Where the
// file system knows no locks nobody sees it.
func Claim(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// Claimed reports whether somebody else holds a file.
func Claimed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Hold takes a file for this process alone, for as long as what it returns is open, making it if need be.
// held says that somebody else has it. Where the file system knows no locks everybody has it.
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
