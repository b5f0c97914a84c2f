package postgres

import (
	"context"
	"fmt"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/sqltext"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	maxParameters   = 65535 // of one statement, by the width of Bind's count
	maxRows         = 1000  // of one statement
	picodataCells   = 4000  // parameters of one statement that stay below sql_vdbe_opcode_max and sql_motion_row_max
	pipelinedUnits  = 8     // statements sent before their answers are awaited
	pipelinedBuffer = 4 << 20
)

// rowsAStatement is how many rows of so many columns one statement takes.
func rowsAStatement(columns int, picodata bool) uint64 {
	most := maxParameters
	if picodata {
		most = picodataCells
	}
	return uint64(min(max(most/max(columns, 1), 1), maxRows))
}

// batcher sends some columns of a chunk's rows in prepared statements of many rows each, several
// statements at a time.
type batcher struct {
	a       *admin
	t       *target
	columns []int
	oids    []uint32 // of one row's parameters
	many    uint64   // rows of a full statement
	text    func(rows int) string

	forms []form
	row   []gen.Value
	arguments
}

// run sends all rows and returns how many the server says that it changed.
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

// prepare prepares the statement for so many rows under the one name that batches use.
func (b *batcher) prepare(ctx context.Context, rows int) error {
	oids := make([]uint32, 0, rows*len(b.oids))
	for range rows {
		oids = append(oids, b.oids...)
	}
	text := b.text(rows)
	description, perr := b.a.pg.Prepare(ctx, "", text, oids)
	if perr != nil && b.a.picodata && !b.a.pg.IsClosed() { // it knows the parameters' types by itself
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
		return &driver.Error{Class: driver.Protocol, Fatal: true,
			Text: fmt.Sprintf("load of table %s: the server described %d of %d parameters", sqltext.Quote(b.t.Table), len(b.forms), rows*len(b.columns))}
	}
	return nil
}

// encode makes values and formats of the rows from a number on.
func (b *batcher) encode(first, rows uint64) *driver.Error {
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
