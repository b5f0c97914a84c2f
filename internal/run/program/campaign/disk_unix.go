//go:build linux || darwin || freebsd

package campaign

import "golang.org/x/sys/unix"

// FreeBytes returns how much of the disk of a folder is free for this user, or false if the system doesn't say.
func FreeBytes(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return uint64(max(s.Bavail, 0)) * uint64(s.Bsize), true
}
