//go:build !amd64 && !arm64

package machine

// pause does nothing: the spinner shares the core with the core's other hardware thread.
func pause() {}
