// Package sqlconn is what drivers over libraries for Go's database/sql share: connections that are
// used directly, one a session, without a pool between.
package sqlconn

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
)

// Connection is what libraries' connections can do.
type Connection interface {
	sqldriver.Conn
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

// Prepared is what libraries' prepared statements can do.
type Prepared interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// Statement is what a session sends: a prepared statement, or a text.
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

// Close releases the statement, if it is prepared.
func (st *Statement) Close() {
	if st.Prepared != nil {
		_ = st.Prepared.Close() // it isn't used again
	}
}

// Exec sends the statement, which returns no rows.
func (st *Statement) Exec(ctx context.Context, c Connection, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if st.Prepared != nil {
		return st.Prepared.ExecContext(ctx, args)
	}
	return c.ExecContext(ctx, st.Text, args)
}

// Each sends the statement and calls begin, unless it is nil, with the columns' names, then row with
// each row's values, which are valid during the call. An error of theirs ends the query and is returned.
func (st *Statement) Each(ctx context.Context, c Connection, args []sqldriver.NamedValue,
	begin func(columns []string) error, row func(values []sqldriver.Value) error) (err error) {
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
		if err := begin(columns); err != nil {
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
