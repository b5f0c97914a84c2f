package http

import (
	"bytes"
	"io"
	"sync/atomic"
)

// payload is the body of a request. net/http may read it until it closes the reader, which can be after the answer has
// been read. Its memory is used for the next request only if that has happened.
type payload struct {
	text    []byte
	readers *atomic.Int64 // that aren't closed
}

// begin empties the payload.
func (p *payload) begin() {
	if p.readers == nil || p.readers.Load() > 0 {
		*p = payload{readers: new(atomic.Int64)}
	}
	p.text = p.text[:0]
}

// reader returns a reader of the body.
func (p *payload) reader() io.ReadCloser {
	p.readers.Add(1)
	r := &payloadReader{readers: p.readers}
	r.Reset(p.text)
	return r
}

// payloadReader reads a payload.
type payloadReader struct {
	bytes.Reader
	readers *atomic.Int64
	closed  atomic.Bool
}

// Close implements io.Closer. It may be called several times.
func (r *payloadReader) Close() error {
	if !r.closed.Swap(true) {
		r.readers.Add(-1)
	}
	return nil
}
