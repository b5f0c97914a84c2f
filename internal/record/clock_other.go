//go:build !linux

package record

// clockResolutionNs returns 0: the resolution is read only on Linux.
func clockResolutionNs() int64 { return 0 }
