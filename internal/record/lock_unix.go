//go:build unix

package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// claim holds f for as long as it is open, so that others see that its run is under way. Where the
// file system knows no locks nobody sees it.
func claim(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// claimed reports whether somebody else holds a file.
func claimed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
