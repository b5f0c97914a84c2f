package picodata

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/base/sqltext"
	"brunt/internal/inspect/built"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
)

// Open parses a URL and checks that the cluster can be reached. build permits building indexes to try them, on all
// instances. Its errors are one line, without secrets.
func Open(ctx context.Context, url string, build bool) (*built.Database, error) {
	i, err := New(url)
	if err != nil {
		return nil, err
	}
	return built.Open(ctx, build, func(ctx context.Context) (built.Server, error) {
		admin, err := iproto.New().Admin(ctx, i.target)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", i.Name(), secret.Text(secret.Redact(err.Error(), []string{i.target.Password})))
		}
		return &builder{admin, i.target.Password}, nil
	})
}

// builder is the built.Server of Picodata.
type builder struct {
	admin    protocol.Admin
	password string
}

var _ built.Server = (*builder)(nil)

func (b *builder) clean(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(secret.Text(protocol.Line(err.Error(), b.password)))
}

// Exec implements built.Server.
func (b *builder) Exec(ctx context.Context, statement string) error {
	_, err := b.admin.Exec(ctx, statement)
	return b.clean(err)
}

// Explain implements built.Server. Plans have no estimates of rows: a scan reads all rows of its table, and a search
// counts as one.
func (b *builder) Explain(ctx context.Context, statement string) (rows float64, scanned []string, err error) {
	var p plan
	if err := p.explain(ctx, b.admin, "EXPLAIN (RAW) "+statement); err != nil {
		return 0, nil, b.clean(err)
	}
	rows = 1
	for _, table := range p.scans {
		counted, err := b.number(ctx, "SELECT COUNT(*) FROM "+sqltext.Quote(table))
		if err != nil {
			return 0, nil, err
		}
		rows *= max(counted, 1)
	}
	return rows, p.scans, nil
}

// number returns the number that a statement returns.
func (b *builder) number(ctx context.Context, statement string) (n float64, err error) {
	err = b.admin.Query(ctx, statement, func(row []*string) error {
		if len(row) > 0 && row[0] != nil {
			n, _ = strconv.ParseFloat(*row[0], 64)
		}
		return nil
	})
	return n, b.clean(err)
}

// within limits how long a cluster may take to build or drop an index, since it waits for instances that are down
// ("CREATE INDEX" and "DROP INDEX" in Picodata's documentation).
const within = " OPTION (TIMEOUT = 600)"

// Create implements built.Server.
func (b *builder) Create(index, table string, columns []string) string {
	return "CREATE INDEX " + sqltext.Quote(index) + " ON " + sqltext.Quote(table) + " USING TREE (" +
		strings.Join(columns, ", ") + ")" + within
}

// Drop implements built.Server.
func (b *builder) Drop(index, _ string) string { return "DROP INDEX " + sqltext.Quote(index) + within }

// Exists implements built.Server.
func (b *builder) Exists(ctx context.Context, index, table string) (bool, error) {
	n, err := b.number(ctx, `SELECT COUNT(*) FROM "_pico_index" AS i JOIN "_pico_table" AS t ON i."table_id" = t."id" `+
		`WHERE i."name" = `+sqltext.QuoteText(index)+` AND t."name" = `+sqltext.QuoteText(table))
	return n > 0, err
}

// Stop implements built.Server. A change of the schema that has begun goes on without its client until it ends or times
// out, and the next change waits for it: there is nothing to stop.
func (b *builder) Stop(context.Context, []string) error { return nil }

// Close implements built.Server.
func (b *builder) Close() { b.admin.Close() }
