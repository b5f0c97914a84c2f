package sqlconn

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Session is a connection whose failures can be classified.
type Session interface {
	Connection
	// Failure classifies an error that the library returned.
	Failure(ctx context.Context, err error) *protocol.Error
}

// Dialect says how to load tables of a server.
type Dialect struct {
	Quote      func(name string) string
	Table      func(name string) string // quotes the name of a table, which may be in a schema
	Begin      string                   // the statement that begins a transaction
	Replace    string                   // verb of an INSERT that replaces rows with the same key, such as "REPLACE"
	Parameters int                      // maximum number of parameters of one INSERT
	Argument   func(*gen.Value) (sqldriver.Value, *protocol.Error)
	Turn       sync.Locker // held while a chunk is loaded, if a database has one writer at a time; or nil
}

// admin is a protocol.Admin over a session.
type admin struct {
	Session
	dialect Dialect
}

// NewAdmin returns a set-up session over s. Closing it closes s.
func NewAdmin(s Session, d Dialect) protocol.Admin { return &admin{s, d} }

// Exec runs a statement. It returns 0 for statements that aren't an insert, update or delete.
func (a *admin) Exec(ctx context.Context, text string) (int64, error) {
	result, err := a.ExecContext(ctx, text, nil)
	if err != nil {
		return 0, a.Failure(ctx, err)
	}
	switch (&protocol.Request{Text: text}).Kind() {
	case protocol.KindInsert, protocol.KindUpdate, protocol.KindDelete:
		return result.RowsAffected()
	}
	return 0, nil
}

// Query runs a statement. An error returned by row ends the query and is returned unchanged.
func (a *admin) Query(ctx context.Context, text string, row func(values []*string) error) error {
	var refused error
	err := (&Statement{Text: text}).Each(ctx, a, nil, nil, func(values []sqldriver.Value) error {
		texts := make([]*string, len(values))
		for i, v := range values {
			if v != nil {
				s := string(Text(v))
				texts[i] = &s
			}
		}
		refused = row(texts)
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return a.Failure(ctx, err)
	}
	return nil
}

// Load inserts a chunk in one transaction, with multi-row INSERTs. With replace, rows with the chunk's keys are
// replaced; this requires a primary key.
func (a *admin) Load(ctx context.Context, chunk *protocol.Chunk, replace bool) (rows int64, err error) {
	if chunk.Rows == 0 {
		return 0, nil
	}
	if replace && len(chunk.Keys) == 0 {
		return 0, protocol.NoKeys(a.dialect.Table(chunk.Table))
	}
	if a.dialect.Turn != nil {
		a.dialect.Turn.Lock()
		defer a.dialect.Turn.Unlock()
	}
	if _, err := a.Exec(ctx, a.dialect.Begin); err != nil {
		return 0, err
	}
	l := &loader{admin: a, chunk: chunk, verb: "INSERT", values: make([]gen.Value, len(chunk.Columns))}
	if replace {
		l.verb = a.dialect.Replace
	}
	err = l.run(ctx)
	l.close()
	if err == nil {
		_, err = a.Exec(ctx, "COMMIT")
	}
	if err == nil {
		return int64(chunk.Rows), nil
	}
	a.ExecContext(context.WithoutCancel(ctx), "ROLLBACK", nil)
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = a.Failure(ctx, err)
	}
	e.Text = fmt.Sprintf("load of table %s: %s", a.dialect.Table(chunk.Table), e.Text)
	return 0, e
}

// progressRows is the number of rows between calls of Progress.
const progressRows = 10000

// loader is one load in progress.
type loader struct {
	*admin
	chunk     *protocol.Chunk
	verb      string
	values    []gen.Value
	statement Statement
	size      uint64 // number of rows in statement
	args      []sqldriver.NamedValue
}

func (l *loader) run(ctx context.Context) error {
	many := uint64(max(l.dialect.Parameters/max(len(l.chunk.Columns), 1), 1))
	end, told := l.chunk.First+l.chunk.Rows, l.chunk.First
	for next := l.chunk.First; next < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.prepare(ctx, min(many, end-next)); err != nil {
			return err
		}
		l.args = l.args[:0]
		for range l.size {
			if err := l.row(next); err != nil {
				return err
			}
			next++
		}
		if _, err := l.statement.Exec(ctx, l, l.args); err != nil {
			return err
		}
		if l.chunk.Progress != nil && (next-told >= progressRows || next == end) {
			l.chunk.Progress(next - told)
			told = next
		}
	}
	return nil
}

// row appends a row's arguments. It copies their bytes, because the next row is generated into the same buffers.
func (l *loader) row(number uint64) error {
	l.chunk.Row(l.values, number)
	for i := range l.values {
		v, err := l.dialect.Argument(&l.values[i])
		if err != nil {
			err.Text = fmt.Sprintf("row %d, column %s: %s", number, l.dialect.Quote(l.chunk.Columns[i].Name), err.Text)
			return err
		}
		if b, ok := v.([]byte); ok {
			v = slices.Clone(b)
		}
		l.args = append(l.args, sqldriver.NamedValue{Ordinal: len(l.args) + 1, Value: v})
	}
	return nil
}

// prepare prepares an INSERT of the given number of rows, unless it is prepared already.
func (l *loader) prepare(ctx context.Context, rows uint64) error {
	if l.size == rows {
		return nil
	}
	l.close()
	names := make([]string, len(l.chunk.Columns))
	for i, c := range l.chunk.Columns {
		names[i] = l.dialect.Quote(c.Name)
	}
	l.statement.Text = Insert(l.verb, l.dialect.Table(l.chunk.Table), names, int(rows), false)
	l.size = rows
	return l.statement.Prepare(ctx, l)
}

func (l *loader) close() {
	l.statement.Close()
	l.statement, l.size = Statement{}, 0
}

// Insert returns a statement that inserts the given number of rows. verb is "INSERT" or its replacement. table
// and columns must be quoted already.
func Insert(verb, table string, columns []string, rows int, numbered bool) string {
	return fmt.Sprintf("%s INTO %s (%s) VALUES %s", verb, table, strings.Join(columns, ", "),
		Tuples(rows, len(columns), numbered))
}

// Numbered is Insert with numbered parameters; it quotes the names of columns. With replace, existing rows are
// overwritten, in Picodata's syntax.
func Numbered(table string, columns []string, rows int, replace bool) string {
	text := Insert("INSERT", table, sqltext.QuoteAll(columns), rows, true)
	if replace {
		text += " ON CONFLICT DO REPLACE"
	}
	return text
}

// Tuples returns the parameters of the given number of rows: ($1, $2), ($3, $4), or (?, ?), (?, ?).
func Tuples(rows, columns int, numbered bool) string {
	b := make([]byte, 0, rows*columns*8)
	n := 0
	for r := range rows {
		if r > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		for c := range columns {
			if c > 0 {
				b = append(b, ", "...)
			}
			if n++; numbered {
				b = strconv.AppendInt(append(b, '$'), int64(n), 10)
			} else {
				b = append(b, '?')
			}
		}
		b = append(b, ')')
	}
	return string(b)
}
