//go:build !linux && !darwin && !freebsd

package campaign

// FreeBytes is how much of the disk that holds a folder is free for this user; false where the system doesn't say.
func FreeBytes(string) (uint64, bool) { return 0, false }
