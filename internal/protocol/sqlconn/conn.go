// Package sqlconn is shared by drivers that use libraries for Go's database/sql. It uses the libraries'
// connections directly, one per session, without a pool.
package sqlconn

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
)

// Connection is the interface required of a library's connections.
type Connection interface {
	sqldriver.Conn
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

// Prepared is the interface required of a library's prepared statements.
type Prepared interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// Statement is a statement that a session sends, prepared or as text.
type Statement struct {
	Prepared Prepared // nil: Text is sent
	Text     string

	row []sqldriver.Value
}

// Prepare prepares the text on a connection.
func (st *Statement) Prepare(ctx context.Context, c Connection) error {
	p, err := c.PrepareContext(ctx, st.Text)
	if err == nil {
		st.Prepared = p.(Prepared)
	}
	return err
}

// Close releases the prepared statement, if any.
func (st *Statement) Close() {
	if st.Prepared != nil {
		_ = st.Prepared.Close() // it isn't used again
	}
}

// Exec sends a statement that returns no rows.
func (st *Statement) Exec(ctx context.Context, c Connection, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if st.Prepared != nil {
		return st.Prepared.ExecContext(ctx, args)
	}
	return c.ExecContext(ctx, st.Text, args)
}

// Columns are the columns of a result.
type Columns struct {
	Names []string
	rows  sqldriver.Rows
}

// Type returns the name that the library gives to a column's type, "" if it doesn't say.
func (c *Columns) Type(i int) string {
	if typed, ok := c.rows.(sqldriver.RowsColumnTypeDatabaseTypeName); ok {
		return typed.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// Each sends the statement. It calls begin, if not nil, with the columns, then row with the values
// of each row, which are valid during the call. An error returned by either function ends the query and is
// returned.
func (st *Statement) Each(ctx context.Context, c Connection, args []sqldriver.NamedValue,
	begin func(columns *Columns) error, row func(values []sqldriver.Value) error) (err error) {
	var rows sqldriver.Rows
	if st.Prepared != nil {
		rows, err = st.Prepared.QueryContext(ctx, args)
	} else {
		rows, err = c.QueryContext(ctx, st.Text, args)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns := rows.Columns()
	if begin != nil {
		if err := begin(&Columns{Names: columns, rows: rows}); err != nil {
			return err
		}
	}
	for len(st.row) < len(columns) {
		st.row = append(st.row, nil)
	}
	values := st.row[:len(columns)]
	for len(columns) > 0 {
		switch err := rows.Next(values); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}
