package tarantool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/base/sqltext"
	"brunt/internal/inspect/built"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
)

// Open parses a URL and checks that the instance can be reached. build permits building indexes to try them. Indexes
// are those of SQL tables. Its errors are one line, without secrets.
func Open(ctx context.Context, url string, build bool) (*built.Database, error) {
	i, err := New(url)
	if err != nil {
		return nil, err
	}
	return built.Open(ctx, build, func(ctx context.Context) (built.Server, error) {
		s, err := iproto.OpenSession(ctx, i.target)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", i.Name(), secret.Text(secret.Redact(err.Text, []string{i.target.Password})))
		}
		return &builder{s}, nil
	})
}

// builder is the built.Server of Tarantool.
type builder struct{ session *iproto.Session }

var _ built.Server = (*builder)(nil)

// plainError returns an error for users.
func plainError(err *protocol.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(secret.Text(err.Text))
}

// Exec implements built.Server.
func (b *builder) Exec(ctx context.Context, statement string) error {
	return plainError(b.session.Exec(ctx, statement))
}

// Explain implements built.Server. Plans have no estimates of rows: a scan reads all rows of its table, and a search
// counts as one.
func (b *builder) Explain(ctx context.Context, statement string) (rows float64, scanned []string, err error) {
	steps, failure := b.session.Query(ctx, "EXPLAIN QUERY PLAN "+statement)
	if failure != nil {
		return 0, nil, plainError(failure)
	}
	var p plan
	for _, row := range steps {
		if fields, _ := row.([]any); len(fields) > 0 {
			detail, _ := fields[len(fields)-1].(string)
			p.add(detail)
		}
	}
	rows = 1
	for _, table := range p.scans {
		counted, failure := b.session.Query(ctx, "SELECT COUNT(*) FROM "+sqltext.Quote(table))
		if failure != nil {
			return 0, nil, plainError(failure)
		}
		if fields, _ := counted[0].([]any); len(fields) > 0 {
			rows *= max(number(fields[0]), 1)
		}
	}
	return rows, p.scans, nil
}

// Create implements built.Server.
func (b *builder) Create(index, table string, columns []string) string {
	return "CREATE INDEX " + sqltext.Quote(index) + " ON " + sqltext.Quote(table) + " (" + strings.Join(columns, ", ") +
		")"
}

// Drop implements built.Server.
func (b *builder) Drop(index, table string) string {
	return "DROP INDEX " + sqltext.Quote(index) + " ON " + sqltext.Quote(table)
}

// Exists implements built.Server.
func (b *builder) Exists(ctx context.Context, index, table string) (bool, error) {
	rows, err := b.session.Query(ctx, `SELECT COUNT(*) FROM "_vindex" i JOIN "_vspace" s ON s."id" = i."id" WHERE i."name" = `+
		sqltext.QuoteText(index)+` AND s."name" = `+sqltext.QuoteText(table))
	if err != nil || len(rows) == 0 {
		return false, plainError(err)
	}
	fields, _ := rows[0].([]any)
	return len(fields) > 0 && number(fields[0]) > 0, nil
}

// Stop implements built.Server. A Tarantool builds an index within the request, and ends it with its connection's
// requests: there is nothing to stop.
func (b *builder) Stop(context.Context, []string) error { return nil }

// Close implements built.Server.
func (b *builder) Close() { b.session.Close() }
