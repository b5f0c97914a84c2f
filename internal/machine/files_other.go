//go:build !unix

package machine

// Files isn't known here: such systems have no limit of file descriptors that a load would meet.
func Files() (open, most int) { return 0, 0 }
