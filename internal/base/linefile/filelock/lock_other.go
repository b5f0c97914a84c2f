//go:build !unix

package filelock

import (
	"io"
	"os"
)

// Claim does nothing: the system has no suitable locks.
func Claim(*os.File) {}

// Claimed returns false.
func Claimed(string) bool { return false }

// Hold opens or creates a file without locking it; see the version for Unix.
func Hold(path string) (lock io.Closer, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	return f, false, err
}

// Wait opens the folder dir without locking it; see the version for Unix.
func Wait(dir string) (lock io.Closer, err error) { return os.Open(dir) }
