//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package password

import (
	"os"

	"golang.org/x/sys/unix"
)

// muteEcho turns off the echo of a terminal, in line mode, until restore is called.
func muteEcho(tty *os.File) (restore func(), err error) {
	fd := int(tty.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	muted := *before
	muted.Lflag &^= unix.ECHO
	muted.Lflag |= unix.ICANON | unix.ISIG
	muted.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &muted); err != nil {
		return nil, err
	}
	return func() { unix.IoctlSetTermios(fd, setTermios, before) }, nil
}
