//go:build !linux && !darwin && !freebsd

package campaign

// FreeBytes returns how much of the disk of a folder is free for this user, or false if the system doesn't say.
func FreeBytes(string) (uint64, bool) { return 0, false }
