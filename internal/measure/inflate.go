package measure

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zlib"
)

// inflater decompresses zlib streams (RFC 1950) that are completely in memory, such as those of histograms, and keeps
// its memory between them. The zero value is ready to use. It is not safe for concurrent use.
type inflater struct {
	in    bytes.Reader
	zip   io.ReadCloser // nil before the first stream
	limit io.LimitedReader
	out   bytes.Buffer
}

var errInflateFull = errors.New("the zlib stream holds more than is allowed")

// inflate returns the decompressed contents of a stream, which are valid until the next call. It fails if they are
// longer than most bytes.
func (f *inflater) inflate(stream []byte, most int) ([]byte, error) {
	f.in.Reset(stream)
	var err error
	if f.zip == nil {
		f.zip, err = zlib.NewReader(&f.in)
	} else {
		err = f.zip.(zlib.Resetter).Reset(&f.in, nil)
	}
	if err != nil {
		return nil, err
	}
	f.limit = io.LimitedReader{R: f.zip, N: int64(most) + 1}
	f.out.Reset()
	n, err := f.out.ReadFrom(&f.limit)
	if err == nil && n > int64(most) {
		err = errInflateFull
	}
	return f.out.Bytes(), err
}
