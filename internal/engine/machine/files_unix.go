//go:build unix

package machine

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Files returns how many file descriptors this process has open, and how many it may have: the soft limit, which
// the Go runtime raises to the hard limit when a program starts. A number that the system doesn't provide is 0.
func Files() (open, most int) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0
	}
	most = int(min(uint64(limit.Cur), math.MaxInt32)) // an infinite limit becomes math.MaxInt32
	for _, folder := range []string{"/proc/self/fd", "/dev/fd"} {
		if names, err := os.ReadDir(folder); err == nil {
			return len(names), most
		}
	}
	return 0, most
}
