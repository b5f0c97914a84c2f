package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/sqltext"
)

// admin is a session for set-up.
type admin struct{ *session }

// Admin opens a session for set-up.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	s, err := d.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return &admin{s}, nil
}

// Exec runs a statement. Statements that change no rows (DDL, pragmas) affect 0.
func (a *admin) Exec(ctx context.Context, text string) (int64, error) {
	result, err := a.ExecContext(ctx, text, nil)
	if err != nil {
		return 0, failure(ctx, err)
	}
	switch sqltext.FirstWord(text) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		return result.RowsAffected()
	}
	return 0, nil
}

// Query runs a statement. An error of row's ends the query and is returned as it is.
func (a *admin) Query(ctx context.Context, text string, row func(values []*string) error) error {
	var refused error
	err := a.each(ctx, text, func(values []sqldriver.Value) error {
		texts := make([]*string, len(values))
		for i, v := range values {
			if v != nil {
				s := textOf(v)
				texts[i] = &s
			}
		}
		refused = row(texts)
		return refused
	})
	switch {
	case err == nil:
		return nil
	case refused != nil && errors.Is(err, refused):
		return refused
	}
	return failure(ctx, err)
}

const (
	loadParameters = 900 // of one INSERT; more don't make it faster
	progressRows   = 10000
)

// Load fills a chunk in one transaction, by INSERTs of many rows. With replace, rows that have the
// chunk's keys are replaced (INSERT OR REPLACE); that needs keys.
func (a *admin) Load(ctx context.Context, chunk *driver.Chunk, replace bool) (rows int64, err error) {
	if chunk.Rows == 0 {
		return 0, nil
	}
	if replace && len(chunk.Keys) == 0 {
		return 0, driver.Bad("table %s has no primary key, so its rows can't be replaced; empty it and load again", sqltext.Quote(chunk.Table))
	}
	if _, err := a.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return 0, err
	}
	l := &loader{admin: a, chunk: chunk, replace: replace, values: make([]gen.Value, len(chunk.Columns))}
	err = l.run(ctx)
	l.close()
	if err == nil {
		_, err = a.Exec(ctx, "COMMIT")
	}
	if err != nil {
		a.ExecContext(context.WithoutCancel(ctx), "ROLLBACK", nil)
		var e *driver.Error
		if !errors.As(err, &e) {
			e = failure(ctx, err)
		}
		e.Text = fmt.Sprintf("load of table %s: %s", sqltext.Quote(chunk.Table), e.Text)
		return 0, e
	}
	return int64(chunk.Rows), nil
}

// loader is one load under way.
type loader struct {
	*admin
	chunk     *driver.Chunk
	replace   bool
	values    []gen.Value
	statement prepared
	size      uint64 // rows of statement
	args      []sqldriver.NamedValue
}

func (l *loader) run(ctx context.Context) error {
	many := uint64(max(loadParameters/max(len(l.chunk.Columns), 1), 1))
	end, told := l.chunk.First+l.chunk.Rows, l.chunk.First
	for next := l.chunk.First; next < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.prepare(min(many, end-next)); err != nil {
			return err
		}
		l.args = l.args[:0]
		for range l.size {
			if err := l.row(next); err != nil {
				return err
			}
			next++
		}
		// The loop looks at ctx itself: the library would start a goroutine for each statement.
		if _, err := l.statement.ExecContext(context.Background(), l.args); err != nil {
			return err
		}
		if l.chunk.Progress != nil && (next-told >= progressRows || next == end) {
			l.chunk.Progress(next - told)
			told = next
		}
	}
	return nil
}

func (l *loader) row(number uint64) error {
	l.chunk.Row(l.values, number)
	for i := range l.values {
		v, err := argument(&l.values[i])
		if err != nil {
			err.Text = fmt.Sprintf("row %d, column %s: %s", number, sqltext.Quote(l.chunk.Columns[i].Name), err.Text)
			return err
		}
		l.args = append(l.args, sqldriver.NamedValue{Ordinal: len(l.args) + 1, Value: v})
	}
	return nil
}

// prepare prepares an INSERT of so many rows unless it is there.
func (l *loader) prepare(rows uint64) error {
	if l.size == rows {
		return nil
	}
	l.close()
	names := make([]string, len(l.chunk.Columns))
	for i, c := range l.chunk.Columns {
		names[i] = sqltext.Quote(c.Name)
	}
	verb := "INSERT"
	if l.replace {
		verb = "INSERT OR REPLACE"
	}
	tuple := "(" + strings.TrimSuffix(strings.Repeat("?,", len(names)), ",") + ")"
	p, err := l.Prepare(fmt.Sprintf("%s INTO %s (%s) VALUES %s", verb, sqltext.Quote(l.chunk.Table), strings.Join(names, ", "),
		strings.TrimSuffix(strings.Repeat(tuple+",", int(rows)), ",")))
	if err != nil {
		return err
	}
	l.statement, l.size = p.(prepared), rows
	return nil
}

func (l *loader) close() {
	if l.statement != nil {
		l.statement.Close()
		l.statement, l.size = nil, 0
	}
}
