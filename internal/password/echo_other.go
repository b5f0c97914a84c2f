//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package password

import (
	"errors"
	"os"
)

// muteEcho always fails here.
func muteEcho(*os.File) (restore func(), err error) {
	return nil, errors.ErrUnsupported
}
