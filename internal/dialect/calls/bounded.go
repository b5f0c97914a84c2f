package calls

import (
	"errors"
	"io"
)

// mostText is how many bytes a template may write, so that a loop without end doesn't use up the memory.
const mostText = 64 << 20

// Bounded is a writer for what a template writes: it fails when that is more than 64 MiB.
type Bounded struct {
	To    io.Writer
	wrote int
}

// Write implements io.Writer.
func (b *Bounded) Write(p []byte) (int, error) {
	if b.wrote += len(p); b.wrote > mostText {
		return 0, errors.New("the template writes more than 64 MiB; does a loop not end?")
	}
	return b.To.Write(p)
}
