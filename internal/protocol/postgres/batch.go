package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	maxParameters   = 65535 // per statement, because Bind counts parameters in 16 bits
	maxRows         = 1000  // per statement
	picodataCells   = 4000  // parameters per statement that stay below sql_vdbe_opcode_max and sql_motion_row_max
	pipelinedUnits  = 8     // statements sent before their answers are read
	pipelinedBuffer = 4 << 20
)

// rowsAStatement returns how many rows with the given number of columns fit into one statement.
func rowsAStatement(columns int, picodata bool) uint64 {
	most := maxParameters
	if picodata {
		most = picodataCells
	}
	return uint64(min(max(most/max(columns, 1), 1), maxRows))
}

// batcher sends some columns of a chunk's rows in prepared statements of many rows each. It pipelines several
// statements.
type batcher struct {
	a       *admin
	t       *target
	columns []int
	oids    []uint32 // types of one row's parameters
	many    uint64   // rows of a full statement
	text    func(rows int) string

	forms []form
	row   []gen.Value
	arguments
}

// run sends all rows and returns how many rows the server reports as changed.
func (b *batcher) run(ctx context.Context, progress func(uint64)) (changed int64, err error) {
	b.row = make([]gen.Value, len(b.t.names))
	end := b.t.First + b.t.Rows
	next := b.t.First
	for next < end {
		size := min(b.many, end-next)
		if err := b.prepare(ctx, int(size)); err != nil {
			return changed, err
		}
		for next < end && end-next >= size {
			from := next
			batch := &pgconn.Batch{}
			for k, bytes := 0, 0; k < pipelinedUnits && end-next >= size && bytes < pipelinedBuffer; k++ {
				if refused := b.encode(next, size); refused != nil {
					return changed, refused
				}
				batch.ExecPrepared("", b.values, b.formats, nil)
				next += size
				bytes += len(b.buffer)
			}
			n, err := b.send(ctx, batch)
			changed += n
			if err != nil {
				return changed, err
			}
			if progress != nil {
				progress(next - from)
			}
		}
	}
	return changed, nil
}

func (b *batcher) send(ctx context.Context, batch *pgconn.Batch) (changed int64, err error) {
	results := b.a.pg.ExecBatch(ctx, batch)
	for results.NextResult() {
		tag, err := results.ResultReader().Close()
		if err != nil {
			break
		}
		changed += affected(tag.String())
	}
	if err := results.Close(); err != nil {
		return changed, b.a.loadFailure(ctx, b.t.Table, err)
	}
	return changed, nil
}

// prepare prepares the statement for the given number of rows as the unnamed statement.
func (b *batcher) prepare(ctx context.Context, rows int) error {
	oids := make([]uint32, 0, rows*len(b.oids))
	for range rows {
		oids = append(oids, b.oids...)
	}
	text := b.text(rows)
	description, perr := b.a.pg.Prepare(ctx, "", text, oids)
	if perr != nil && b.a.picodata && !b.a.pg.IsClosed() { // Picodata infers the parameters' types itself
		description, perr = b.a.pg.Prepare(ctx, "", text, nil)
	}
	if perr != nil {
		return b.a.loadFailure(ctx, b.t.Table, perr)
	}
	b.forms = b.forms[:0]
	for _, oid := range description.ParamOIDs {
		b.forms = append(b.forms, forms[oid])
	}
	if len(b.forms) != rows*len(b.columns) {
		return &protocol.Error{Class: protocol.Protocol, Fatal: true,
			Text: fmt.Sprintf("load of table %s: the server described %d of %d parameters", b.a.table(b.t.Table),
				len(b.forms), rows*len(b.columns))}
	}
	return nil
}

// encode encodes the parameters of the given number of rows, starting with row first.
func (b *batcher) encode(first, rows uint64) *protocol.Error {
	b.reset()
	for r := range rows {
		b.t.Row(b.row, first+r)
		for _, c := range b.columns {
			if err := b.add(b.forms[len(b.ends)], &b.row[c]); err != nil {
				return b.t.inRow(err, first+r, c)
			}
		}
	}
	b.cut()
	return nil
}

const (
	copySignature = "PGCOPY\n\xff\r\n\x00" // followed by flags and the length of the extension, both 0
	copyPiece     = 64 << 10               // rows are encoded until this many bytes are ready
	progressRows  = 10000                  // rows between calls of Progress
)

// copyRows sends the chunk by COPY … FROM STDIN (FORMAT binary).
func (a *admin) copyRows(ctx context.Context, t *target) (int64, error) {
	source := newCopySource(t)
	freeze := ""
	if t.Frozen {
		freeze = ", FREEZE"
	}
	statement := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary%s)", a.table(t.Table),
		strings.Join(sqltext.QuoteAll(t.names), ", "), freeze)
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

// copySource is a reader of the chunk in COPY's binary format, which it generates as it is read. Reading
// allocates nothing once the buffer has grown.
type copySource struct {
	t      *target
	values []gen.Value
	buffer []byte
	at     int // bytes of buffer that have been read
	next   uint64
	end    uint64
	ended  bool
	told   uint64
	// refused is atomic because pgconn's reader may still be running when a broken connection ends a COPY.
	refused atomic.Pointer[protocol.Error]
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

// row appends one row: the number of fields, then each field with its length.
func (s *copySource) row() *protocol.Error {
	s.t.Row(s.values, s.next)
	s.buffer = binary.BigEndian.AppendUint16(s.buffer, uint16(len(s.values)))
	for i := range s.values {
		var err *protocol.Error
		if s.buffer, err = appendField(s.buffer, s.t.forms[i], &s.values[i]); err != nil {
			return s.t.inRow(err, s.next, i)
		}
	}
	return nil
}

// tell reports to Progress the rows generated since its last call. Unless all is true, it waits for at least
// progressRows.
func (s *copySource) tell(all bool) {
	if further := s.next - s.told; s.t.Progress != nil && further > 0 && (all || further >= progressRows) {
		s.t.Progress(further)
		s.told = s.next
	}
}

// appendField appends a value in binary format, preceded by its length.
func appendField(dst []byte, f form, v *gen.Value) ([]byte, *protocol.Error) {
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

// arguments holds parameters that are encoded one after another in one buffer.
type arguments struct {
	buffer  []byte
	ends    []int // end of each parameter in buffer; −1 for null
	values  [][]byte
	formats []int16
}

func (a *arguments) reset() { a.buffer, a.ends, a.formats = a.buffer[:0], a.ends[:0], a.formats[:0] }

func (a *arguments) add(f form, v *gen.Value) *protocol.Error {
	if v.Kind == gen.Null {
		a.ends, a.formats = append(a.ends, -1), append(a.formats, textFormat)
		return nil
	}
	out, format, err := appendValue(a.buffer, f, v)
	if err == nil {
		a.buffer, a.ends, a.formats = out, append(a.ends, len(out)), append(a.formats, format)
	}
	return err
}

// cut sets values to the slices of buffer that hold the parameters.
func (a *arguments) cut() {
	a.values = a.values[:0]
	start := 0
	for _, end := range a.ends {
		if end < 0 {
			a.values = append(a.values, nil)
			continue
		}
		a.values = append(a.values, a.buffer[start:end:end])
		start = end
	}
}
