//go:build unix

package machine

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Files is how many file descriptors this process has open, and how many it may have: the soft limit, which
// the Go runtime raises to the hard one when a program starts. Both are 0 if the system doesn't tell.
func Files() (open, most int) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0
	}
	most = int(min(uint64(limit.Cur), math.MaxInt32)) // without a limit it is the greatest number there is
	for _, folder := range []string{"/proc/self/fd", "/dev/fd"} {
		if names, err := os.ReadDir(folder); err == nil {
			return len(names), most
		}
	}
	return 0, most
}
