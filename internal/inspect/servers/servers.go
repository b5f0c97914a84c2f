// Package servers is the list of the servers that can be inspected.
package servers

import (
	"context"
	"fmt"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/inspect/postgres"
	"brunt/internal/message"
	"brunt/internal/secret"
)

// Parse returns the inspector that a text of the form pg=DSN asks for. Errors are the user's, one line
// without secrets.
func Parse(text string) (inspect.Inspector, error) {
	dsn, err := split(text)
	if err != nil {
		return nil, err
	}
	return postgres.New(dsn)
}

// Open returns the database that a text of the form pg=DSN names, to ask it for advice. build allows to
// build indexes to try them, where nothing else can: see postgres.Database. Errors are as Parse's, or say
// why the database can't be reached.
func Open(ctx context.Context, text string, build bool) (inspect.Database, error) {
	dsn, err := split(text)
	if err != nil {
		return nil, err
	}
	d, err := postgres.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	d.Build = build
	return d, nil
}

// Lacks says what keeps statements from being counted in the database that a text of the form pg=DSN names, and what
// keeps indexes from being built: see postgres.Database. Errors are as Open's.
func Lacks(ctx context.Context, text string) (counts, builds message.Message, err error) {
	dsn, err := split(text)
	if err != nil {
		return counts, builds, err
	}
	d, err := postgres.Open(ctx, dsn)
	if err != nil {
		return counts, builds, err
	}
	return d.Lacks(ctx)
}

func split(text string) (dsn string, err error) {
	kind, dsn, ok := strings.Cut(text, "=")
	if !ok || kind != "pg" || dsn == "" {
		return "", fmt.Errorf("%s: write pg= and how to connect, such as pg=postgres://host:5432/database?user=name",
			secret.Text(text))
	}
	return dsn, nil
}
