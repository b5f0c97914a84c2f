package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/sqlconn"

	"github.com/jackc/pgx/v5/pgconn"
)

// target is the table of a chunk, with the types that the server uses.
type target struct {
	*protocol.Chunk
	names []string
	oids  []uint32
	forms []form
	keys  []int // column numbers of the primary key
}

// Load inserts a chunk by COPY in binary format, or by prepared multi-row INSERTs if the server has no COPY or
// this package has no binary form for a column's type. The chunk becomes visible as a whole, except on Picodata,
// which has no transactions. With replace, rows with the chunk's keys are deleted in the same transaction (on
// Picodata, they are replaced one by one); this requires a primary key.
func (a *admin) Load(ctx context.Context, chunk *protocol.Chunk, replace bool) (int64, error) {
	if chunk.Rows == 0 {
		return 0, nil
	}
	if replace && len(chunk.Keys) == 0 {
		return 0, protocol.NoKeys(a.table(chunk.Table))
	}
	t, err := a.inspect(ctx, chunk)
	if err != nil {
		return 0, err
	}
	if chunk.Frozen {
		return a.copyRows(ctx, t)
	}
	if !a.noCopy && t.binary() {
		rows, err := a.transact(ctx, t, replace, a.copyRows)
		if !copyRefused(err) {
			return rows, err
		}
		a.noCopy = true
	}
	if a.picodata {
		return a.insertRows(ctx, t, replace)
	}
	return a.transact(ctx, t, replace, func(ctx context.Context, t *target) (int64, error) {
		return a.insertRows(ctx, t, false)
	})
}

// inRow adds the table, row and column of the value that can't be sent to err.
func (t *target) inRow(err *protocol.Error, row uint64, column int) *protocol.Error {
	err.Text = fmt.Sprintf("load of table %s, row %d, column %s: %s", sqltext.QuoteTable(t.Table), row,
		sqltext.Quote(t.names[column]), err.Text)
	return err
}

// table returns the name of a table as it is written in statements. Picodata has no schemas: its names may have dots.
func (a *admin) table(name string) string {
	if a.picodata && len(sqltext.Path(name)) > 1 {
		return sqltext.Quote(name)
	}
	return sqltext.QuoteTable(name)
}

func (a *admin) loadFailure(ctx context.Context, table string, err error) *protocol.Error {
	e := a.failure(ctx, err)
	e.Text = fmt.Sprintf("load of table %s: %s", a.table(table), e.Text)
	return e
}

// copyRefused reports whether the error says that the server has no COPY.
func copyRefused(err error) bool {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Fatal {
		return false
	}
	return e.Code == "0A000" || e.Code == "42601" // feature_not_supported, syntax_error
}

// inspect asks the server for the types of the chunk's columns.
func (a *admin) inspect(ctx context.Context, chunk *protocol.Chunk) (*target, error) {
	t := &target{Chunk: chunk, names: chunk.Names()}
	query := fmt.Sprintf("SELECT %s FROM %s", strings.Join(sqltext.QuoteAll(t.names), ", "),
		a.table(chunk.Table))
	description, err := a.pg.Prepare(ctx, "", query, nil)
	if err != nil {
		return nil, a.loadFailure(ctx, chunk.Table, err)
	}
	if len(description.Fields) != len(t.names) {
		return nil, &protocol.Error{Class: protocol.Protocol, Fatal: true,
			Text: fmt.Sprintf("load of table %s: the server described %d of %d columns", a.table(chunk.Table),
				len(description.Fields), len(t.names))}
	}
	for i := range description.Fields {
		oid := description.Fields[i].DataTypeOID
		t.oids = append(t.oids, oid)
		t.forms = append(t.forms, forms[oid])
	}
	for _, k := range chunk.Keys {
		i := slices.Index(t.names, k)
		if i < 0 {
			return nil, protocol.Bad("table %s has no column %s for its key", a.table(chunk.Table), sqltext.Quote(k))
		}
		t.keys = append(t.keys, i)
	}
	return t, nil
}

// binary reports whether this package has a binary form for all columns' types and for the values of the first
// row.
func (t *target) binary() bool {
	values := make([]gen.Value, len(t.forms))
	t.Row(values, t.First)
	for i, f := range t.forms {
		if f == formOther || f == formArray {
			return false
		}
		if values[i].Kind == gen.Null {
			continue
		}
		if _, err := appendField(nil, f, &values[i]); err != nil {
			return false
		}
	}
	return true
}

// transact runs fill in a transaction. With replace, it deletes the rows with the chunk's keys first.
func (a *admin) transact(ctx context.Context, t *target, replace bool,
	fill func(context.Context, *target) (int64, error)) (rows int64, err error) {
	if _, err := a.Exec(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil && !a.pg.IsClosed() {
			a.pg.Exec(context.WithoutCancel(ctx), "ROLLBACK").Close()
		}
	}()
	if replace {
		if err := a.deleteKeys(ctx, t); err != nil {
			return 0, err
		}
	}
	if rows, err = fill(ctx, t); err != nil {
		return 0, err
	}
	results, cerr := a.pg.Exec(ctx, "COMMIT").ReadAll()
	if cerr != nil {
		return 0, a.failure(ctx, cerr)
	}
	if len(results) == 1 && results[0].CommandTag.String() == "ROLLBACK" {
		return 0, rolledBack()
	}
	return rows, nil
}

// deleteKeys deletes the rows that have the chunk's keys.
func (a *admin) deleteKeys(ctx context.Context, t *target) error {
	names := make([]string, len(t.keys))
	oids := make([]uint32, len(t.keys))
	for i, k := range t.keys {
		names[i], oids[i] = t.names[k], t.oids[k]
	}
	many := rowsAStatement(len(t.keys), false)
	b := &batcher{a: a, t: t, columns: t.keys, many: many, oids: oids,
		text: func(rows int) string {
			return fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (VALUES %s)", a.table(t.Table),
				strings.Join(sqltext.QuoteAll(names), ", "), sqlconn.Tuples(rows, len(t.keys), true))
		}}
	_, err := b.run(ctx, nil)
	return err
}

// insertRows sends the chunk in multi-row INSERTs.
func (a *admin) insertRows(ctx context.Context, t *target, replace bool) (int64, error) {
	columns := make([]int, len(t.names))
	for i := range columns {
		columns[i] = i
	}
	b := &batcher{a: a, t: t, columns: columns, many: rowsAStatement(len(columns), a.picodata), oids: t.oids,
		text: func(rows int) string {
			return sqlconn.Numbered(a.table(t.Table), t.names, rows, replace)
		}}
	return b.run(ctx, t.Progress)
}

// admin is a set-up session.
type admin struct {
	pg       *pgconn.PgConn
	secret   string
	picodata bool
	noCopy   bool // the server has no COPY
}

// Admin opens a set-up session within Target.ConnectTimeout. Its statements and loads are bounded by their own
// contexts only.
func (d *Driver) Admin(ctx context.Context, t protocol.Target) (protocol.Admin, error) {
	bounded, cancel := t.Connecting(ctx)
	defer cancel()
	pg, err := connect(bounded, t)
	if err != nil {
		return nil, err
	}
	a := &admin{pg: pg, secret: t.Password}
	a.picodata = identifyServer("", asker(bounded, pg)).Product == "Picodata"
	a.noCopy = a.picodata
	return a, nil
}

// Exec runs a statement with the simple query protocol.
func (a *admin) Exec(ctx context.Context, statement string) (int64, error) {
	results, err := a.pg.Exec(ctx, statement).ReadAll()
	if err != nil {
		return 0, a.failure(ctx, err)
	}
	n := int64(0)
	for _, r := range results {
		n += affected(r.CommandTag.String())
	}
	return n, nil
}

// Query runs a statement with the simple query protocol. Texts are as the server formats them. An error returned
// by row ends the query and is returned unchanged.
func (a *admin) Query(ctx context.Context, statement string, row func(values []*string) error) error {
	results := a.pg.Exec(ctx, statement)
	var refused error
	for results.NextResult() {
		rows := results.ResultReader()
		for rows.NextRow() {
			if refused != nil {
				continue
			}
			values := make([]*string, len(rows.Values()))
			for i, b := range rows.Values() {
				if b != nil {
					s := string(b)
					values[i] = &s
				}
			}
			refused = row(values)
		}
	}
	if err := results.Close(); err != nil {
		return a.failure(ctx, err)
	}
	return refused
}

// Close ends the session; it is safe to call twice.
func (a *admin) Close() error {
	if a.pg.IsClosed() {
		return nil
	}
	return closeNow(a.pg)
}

func (a *admin) failure(ctx context.Context, err error) *protocol.Error {
	return libraryError(ctx, nil, err, a.pg.IsClosed(), a.secret)
}
