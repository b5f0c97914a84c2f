//go:build unix

package scale

import (
	"os"
	"syscall"
)

// sameDisk reports whether two folders are in one file system.
func sameDisk(a, b string) bool {
	var devices [2]uint64
	for i, folder := range []string{a, b} {
		info, err := os.Stat(folder)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		devices[i] = uint64(stat.Dev)
	}
	return devices[0] == devices[1]
}
