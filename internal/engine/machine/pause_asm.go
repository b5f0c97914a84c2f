//go:build amd64 || arm64

package machine

// pause executes 100 instructions that leave the core's execution units to its other hardware thread.
func pause()
