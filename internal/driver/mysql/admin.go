package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"fmt"
	"io"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// admin is a session for set-up.
type admin struct{ *session }

// Admin opens a session for set-up.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	s, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	return &admin{s}, nil
}

// Exec runs a statement.
func (a *admin) Exec(ctx context.Context, text string) (int64, error) {
	result, err := a.ExecContext(ctx, text, nil)
	if err != nil {
		return 0, a.failure(ctx, nil, err)
	}
	return result.RowsAffected()
}

// Query runs a statement. An error of row's ends the query and is returned as it is.
func (a *admin) Query(ctx context.Context, text string, row func(values []*string) error) error {
	rows, err := a.QueryContext(ctx, text, nil)
	if err != nil {
		return a.failure(ctx, nil, err)
	}
	defer rows.Close()
	values := make([]sqldriver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); err == io.EOF {
			return nil
		} else if err != nil {
			return a.failure(ctx, nil, err)
		}
		texts := make([]*string, len(values))
		for i, v := range values {
			if v != nil {
				s := string(textOf(v))
				texts[i] = &s
			}
		}
		if err := row(texts); err != nil {
			return err
		}
	}
}

const (
	loadParameters = 4000 // of one INSERT; the protocol takes at most 65 535
	progressRows   = 10000
)

// Load fills a chunk in one transaction, by INSERTs of many rows. With replace, rows that have the
// chunk's keys are replaced (REPLACE); that needs keys.
func (a *admin) Load(ctx context.Context, chunk *driver.Chunk, replace bool) (rows int64, err error) {
	if chunk.Rows == 0 {
		return 0, nil
	}
	if replace && len(chunk.Keys) == 0 {
		return 0, driver.Bad("table %s has no primary key, so its rows can't be replaced; empty it and load again", quote(chunk.Table))
	}
	l := &loader{admin: a, chunk: chunk, replace: replace, values: make([]gen.Value, len(chunk.Columns))}
	_, err = a.Exec(ctx, "START TRANSACTION")
	if err == nil {
		err = l.run(ctx)
		l.close()
	}
	if err == nil {
		_, err = a.Exec(ctx, "COMMIT")
	}
	if err != nil {
		a.ExecContext(context.WithoutCancel(ctx), "ROLLBACK", nil)
		e := a.failure(ctx, nil, err)
		e.Text = fmt.Sprintf("load of table %s: %s", quote(chunk.Table), e.Text)
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
		if err := l.prepare(ctx, min(many, end-next)); err != nil {
			return err
		}
		l.args = l.args[:0]
		for range l.size {
			l.chunk.Row(l.values, next)
			for i := range l.values {
				l.args = append(l.args, sqldriver.NamedValue{Ordinal: len(l.args) + 1, Value: argument(&l.values[i])})
				if v, ok := l.args[len(l.args)-1].Value.([]byte); ok {
					l.args[len(l.args)-1].Value = append([]byte(nil), v...)
				}
			}
			next++
		}
		if _, err := l.statement.ExecContext(ctx, l.args); err != nil {
			return err
		}
		if l.chunk.Progress != nil && (next-told >= progressRows || next == end) {
			l.chunk.Progress(next - told)
			told = next
		}
	}
	return nil
}

// prepare prepares an INSERT of so many rows unless it is there.
func (l *loader) prepare(ctx context.Context, rows uint64) error {
	if l.size == rows {
		return nil
	}
	l.close()
	names := make([]string, len(l.chunk.Columns))
	for i, c := range l.chunk.Columns {
		names[i] = quote(c.Name)
	}
	verb := "INSERT"
	if l.replace {
		verb = "REPLACE"
	}
	tuple := "(" + strings.TrimSuffix(strings.Repeat("?,", len(names)), ",") + ")"
	p, err := l.PrepareContext(ctx, fmt.Sprintf("%s INTO %s (%s) VALUES %s", verb, quote(l.chunk.Table), strings.Join(names, ", "),
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
