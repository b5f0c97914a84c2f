//go:build !unix

package filelock

import (
	"io"
	"os"
)

// Claim does nothing: the file stays free.
func Claim(*os.File) {}

// Claimed reports nothing.
func Claimed(string) bool { return false }

// Hold takes a file for this process alone where the system can; see the one of Unix.
func Hold(path string) (lock io.Closer, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	return f, false, err
}
