package mysql

import (
	"context"
	"fmt"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect/built"
)

// Open parses a URL and checks that the server can be reached. build permits building indexes to try them. MySQL 8
// builds them invisible to other sessions; MariaDB has no such indexes that one session can use. Its errors are one
// line, without secrets.
func Open(ctx context.Context, url string, build bool) (*built.Database, error) {
	i, err := New(url)
	if err != nil {
		return nil, err
	}
	return built.Open(ctx, build, func(ctx context.Context) (built.Server, error) {
		s, err := connect(ctx, i.target)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.Name(), err)
		}
		b := &builder{session: s}
		for _, setting := range []string{"lock_wait_timeout = 60", "max_statement_time = 0", "max_execution_time = 0",
			"optimizer_switch = 'use_invisible_indexes=on'"} {
			err := s.exec(ctx, "SET SESSION "+setting)
			b.invisible = err == nil && strings.HasPrefix(setting, "optimizer_switch")
		}
		return b, nil
	})
}

// builder is the built.Server of MySQL and MariaDB.
type builder struct {
	session   *session
	invisible bool // the server has invisible indexes, and this session uses them
}

var _ built.Server = (*builder)(nil)

// Exec implements built.Server.
func (b *builder) Exec(ctx context.Context, statement string) error {
	return b.session.exec(ctx, statement)
}

// Explain implements built.Server. The rows of the steps multiply, as they are nested.
func (b *builder) Explain(ctx context.Context, statement string) (rows float64, scanned []string, err error) {
	r, err := b.session.query(ctx, "EXPLAIN "+statement)
	if err != nil {
		return 0, nil, err
	}
	rows = 1
	for k := range r.rows {
		s := step{table: r.at(k, "table"), access: r.at(k, "type"), rows: r.number(k, "rows")}
		rows *= max(s.rows, 1)
		if s.scans() && s.table != "" {
			scanned = append(scanned, s.table)
		}
	}
	return rows, scanned, nil
}

// Create implements built.Server. Writers aren't blocked while the index is built (InnoDB's online DDL).
func (b *builder) Create(index, table string, columns []string) string {
	text := "CREATE INDEX " + quoteName(index) + " ON " + quoteName(table) + " (" + strings.Join(columns, ", ") + ")"
	if b.invisible {
		text += " INVISIBLE; ALTER TABLE " + quoteName(table) + " ALTER INDEX " + quoteName(index) + " VISIBLE"
	}
	return text
}

// Drop implements built.Server.
func (b *builder) Drop(index, table string) string {
	return "DROP INDEX " + quoteName(index) + " ON " + quoteName(table)
}

// Exists implements built.Server.
func (b *builder) Exists(ctx context.Context, index, table string) (bool, error) {
	n, err := b.session.text(ctx, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE "+
		"TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s AND INDEX_NAME = %s", sqltext.QuoteText(table), sqltext.QuoteText(index)))
	return n != "" && n != "0", err
}

// Stop implements built.Server: a server goes on building after its client has gone.
func (b *builder) Stop(ctx context.Context, statements []string) error {
	for _, text := range statements {
		for {
			r, err := b.session.query(ctx, "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() "+
				"AND LEFT(INFO, 1000) = LEFT("+sqltext.QuoteText(text)+", 1000)")
			if err != nil || len(r.rows) == 0 {
				if err != nil {
					return err
				}
				break
			}
			for k := range r.rows {
				_ = b.session.exec(ctx, "KILL "+r.at(k, "id"))
			}
			if err := b.session.exec(ctx, "DO SLEEP(0.02)"); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements built.Server.
func (b *builder) Close() { b.session.close() }
