//go:build !unix

package machine

// Files returns 0, 0: these systems have no limit of file descriptors that a load would reach.
func Files() (open, most int) { return 0, 0 }
