// Package sqlconn is what drivers over libraries for Go's database/sql share: connections that are
// used directly, one a session, without a pool between.
package sqlconn

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"brunt/internal/driver"
	"brunt/internal/gen"
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

// Put puts a session's statement at the end of those that it has, or in the place of one, which is closed.
func Put[S any](all []S, at int, st S, close func(old *S)) []S {
	if at == len(all) {
		return append(all, st)
	}
	close(&all[at])
	all[at] = st
	return all
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

// TimeFormat is how times are written: UTC, of fixed width, so that they sort as text.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Text is a value of an answer as text; nil for null. It may be a part of v.
func Text(v sqldriver.Value) []byte {
	switch x := v.(type) {
	case nil:
		return nil
	case []byte:
		return x
	case string:
		return []byte(x)
	case int64:
		return strconv.AppendInt(nil, x, 10)
	case uint64:
		return strconv.AppendUint(nil, x, 10)
	case float32:
		return strconv.AppendFloat(nil, float64(x), 'g', -1, 32)
	case float64:
		return strconv.AppendFloat(nil, x, 'g', -1, 64)
	case time.Time:
		return x.UTC().AppendFormat(nil, TimeFormat)
	}
	return []byte(fmt.Sprint(v))
}

// Decoded is a row as its server describes it; what decode doesn't understand is null.
func Decoded(row []sqldriver.Value, decode func(v *gen.Value, from sqldriver.Value, want gen.Kind) *driver.Error) []gen.Value {
	out := make([]gen.Value, len(row))
	for i := range row {
		if decode(&out[i], row[i], gen.Null) != nil {
			out[i].SetNull()
		}
	}
	return out
}
