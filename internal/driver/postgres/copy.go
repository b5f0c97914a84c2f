package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/sqltext"
)

const (
	copySignature = "PGCOPY\n\xff\r\n\x00" // then flags and the length of an extension, both 0
	copyPiece     = 64 << 10               // rows are encoded until so many bytes are ready
	progressRows  = 10000                  // how often Progress is told
)

// copyRows streams the chunk by COPY … FROM STDIN (FORMAT binary).
func (a *admin) copyRows(ctx context.Context, t *target) (int64, error) {
	source := newCopySource(t)
	statement := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", sqltext.Quote(t.Table), strings.Join(sqltext.QuoteAll(t.names), ", "))
	tag, err := a.pg.CopyFrom(ctx, source, statement)
	switch {
	case source.refused.Load() != nil:
		return 0, source.refused.Load()
	case err != nil:
		return 0, a.loadFailure(ctx, t.Table, err)
	}
	source.tell(true)
	return affected(tag.String()), nil
}

// copySource is the chunk in COPY's binary format, made as it is read. Reading it allocates
// nothing once its buffer has grown.
type copySource struct {
	t      *target
	values []gen.Value
	buffer []byte
	at     int // how much of buffer has been read
	next   uint64
	end    uint64
	ended  bool
	told   uint64
	// refused is atomic because pgconn's reader may still run when a broken connection ends a COPY.
	refused atomic.Pointer[driver.Error]
}

func newCopySource(t *target) *copySource {
	s := &copySource{t: t, values: make([]gen.Value, len(t.forms)), next: t.First, end: t.First + t.Rows, told: t.First}
	s.buffer = append(make([]byte, 0, copyPiece+copyPiece/4), copySignature...)
	s.buffer = append(s.buffer, 0, 0, 0, 0, 0, 0, 0, 0)
	return s
}

// Read implements io.Reader.
func (s *copySource) Read(p []byte) (int, error) {
	if s.at == len(s.buffer) {
		s.buffer, s.at = s.buffer[:0], 0
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buffer[s.at:])
	s.at += n
	return n, nil
}

func (s *copySource) fill() error {
	if s.ended {
		return io.EOF
	}
	s.tell(false)
	for len(s.buffer) < copyPiece && s.next < s.end {
		if err := s.row(); err != nil {
			s.refused.Store(err)
			return err
		}
		s.next++
	}
	if s.next == s.end {
		s.buffer = append(s.buffer, 0xff, 0xff)
		s.ended = true
	}
	return nil
}

// row appends one row: the count of its fields, then each with its length.
func (s *copySource) row() *driver.Error {
	s.t.Row(s.values, s.next)
	s.buffer = binary.BigEndian.AppendUint16(s.buffer, uint16(len(s.values)))
	for i := range s.values {
		var err *driver.Error
		if s.buffer, err = appendField(s.buffer, s.t.forms[i], &s.values[i]); err != nil {
			return s.t.inRow(err, s.next, i)
		}
	}
	return nil
}

// tell tells Progress of the rows made since the last time.
func (s *copySource) tell(all bool) {
	if further := s.next - s.told; s.t.Progress != nil && further > 0 && (all || further >= progressRows) {
		s.t.Progress(further)
		s.told = s.next
	}
}

// appendField appends a value in binary format with its length before it.
func appendField(dst []byte, f form, v *gen.Value) ([]byte, *driver.Error) {
	if v.Kind == gen.Null {
		return append(dst, 0xff, 0xff, 0xff, 0xff), nil
	}
	at := len(dst)
	dst, format, err := appendValue(append(dst, 0, 0, 0, 0), f, v)
	if err == nil && format == textFormat && f != formText && f != formJSON {
		err = mismatch(false, f, v)
	}
	if err != nil {
		return dst[:at], err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}
