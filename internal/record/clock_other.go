//go:build !linux

package record

// clockResolutionNs is 0 where the system isn't asked.
func clockResolutionNs() int64 { return 0 }
