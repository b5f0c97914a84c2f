package linefile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Reader reads the complete lines of a file. It ignores what follows the last newline, which is an incomplete line.
type Reader struct {
	in   *bufio.Reader
	most int
	line []byte // the last line
}

// NewReader returns a reader of lines of at most most bytes.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 1<<16), most: most}
}

// Next returns the next line without its newline, or io.EOF. The line is valid until the next call.
func (r *Reader) Next() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(r.line, []byte{'\n'}), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(r.line) > r.most:
			return nil, fmt.Errorf("line longer than %d bytes", r.most)
		}
	}
}

// AtEnd reports whether nothing follows the line that Next returned last.
func (r *Reader) AtEnd() bool {
	_, err := r.in.Peek(1)
	return err == io.EOF
}
