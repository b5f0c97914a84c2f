//go:build amd64 || arm64

package machine

// pause is some hundred instructions that leave a core's other hardware thread all it can use.
func pause()
