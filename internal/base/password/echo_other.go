//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package password

import (
	"errors"
	"os"
)

// muteEcho always fails on this system.
func muteEcho(*os.File) (restore func(), err error) {
	return nil, errors.ErrUnsupported
}
