//go:build !amd64 && !arm64

package machine

// pause does nothing: the other hardware thread of a core shares it with the spinner.
func pause() {}
