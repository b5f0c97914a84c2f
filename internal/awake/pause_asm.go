//go:build amd64 || arm64

package awake

// pause is some hundred instructions that leave a core's other hardware thread all it can use.
func pause()
